"""A training run that goes on exactly where it was, however it was interrupted."""

from __future__ import annotations

import dataclasses
import itertools
import logging
import signal
import time
from collections.abc import Iterator
from types import FrameType

import torch

from model.checkpoint import load_model
from model.data.batches import Batch, Pairs, collate, epoch_order
from model.data.corpus import Corpus
from model.data.tokenised import sample, tokenise
from model.data.vocabulary import train_vocabulary
from model.training.config import TrainingConfig, check_resumable
from model.training.progress import Reporter
from model.training.run_folder import Progress, RunFolder
from model.training.step import make_optimiser, train_step
from model.training.validation import Validation, validate
from model.transformer import Transformer
from serving.errors import DragomanError
from serving.text import TextProcessor

log = logging.getLogger(__name__)

SAMPLE_SENTENCES = 200
"""Validation sentences kept with a model, for its export to prove itself on."""


@dataclasses.dataclass(frozen=True)
class Group:
    """The batches of one step, and the place in the data after them."""

    batches: list[Batch]
    next_epoch: int
    next_group: int


class Trainer:
    """Runs one configuration to its last step."""

    def __init__(self, config: TrainingConfig) -> None:
        self._config = config
        self._folder = RunFolder(config.output)
        self._stop_asked = False
        if self._folder.config.exists():
            check_resumable(TrainingConfig.load(self._folder.config), config)
        config.save(self._folder.config)
        self._corpus = Corpus.read(config.train.source, config.train.target)
        self._text = self._vocabulary()
        self._validation_corpus = Corpus.read(
            config.validation_set.source, config.validation_set.target
        )
        sample_text = "\n".join(self._validation_corpus.source[:SAMPLE_SENTENCES]) + "\n"
        self._folder.sample.write_text(sample_text, encoding="utf-8")
        self._validation_pairs = tokenise(self._validation_corpus, self._text)
        torch.manual_seed(config.seed)
        self._model = Transformer(config.model).train()
        self._optimiser = make_optimiser(self._model)
        self._now = self._folder.restore(self._model, self._optimiser)

    def _vocabulary(self) -> TextProcessor:
        path = self._folder.vocabulary
        if path.exists():
            return TextProcessor.load(path)
        log.info(
            "learning %d pieces from %d pairs", self._config.vocabulary.size, len(self._corpus)
        )
        return train_vocabulary(self._corpus, self._config.vocabulary, path)

    def run(self) -> bool:
        """Train until the last step; False if SIGINT or SIGTERM ended it earlier."""
        steps = self._config.optimisation.steps
        parameters = sum(p.numel() for p in self._model.parameters())
        log.info("%.2f M parameters, step %d of %d", parameters / 1e6, self._now.step, steps)
        previous = {s: signal.signal(s, self._ask_stop) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            with Reporter(steps, self._now.step, self._folder.tensorboard) as reporter:
                for group in self._groups():
                    if self._now.step >= steps or self._stop_asked:
                        break  # this group is the next run's first
                    self._step(group, reporter)
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
        self._finish()
        return not self._stop_asked

    def _ask_stop(self, _number: int, _frame: FrameType | None) -> None:
        log.warning("stopping after this step; run the same command to go on")
        self._stop_asked = True

    def _groups(self) -> Iterator[Group]:
        """Groups from the place in the data that the run has reached, without end."""
        options, model = self._config.optimisation, self._config.model
        for epoch in itertools.count(self._now.epoch):
            pairs = self._epoch_pairs(epoch)
            order = epoch_order(pairs, options.batch_tokens, self._config.seed, epoch)
            groups = [
                order[i : i + options.accumulate] for i in range(0, len(order), options.accumulate)
            ]
            first = self._now.group if epoch == self._now.epoch else 0
            for place in range(first, len(groups)):
                batches = [collate(pairs, b, model.pad_id, model.bos_id) for b in groups[place]]
                after = (epoch, place + 1) if place + 1 < len(groups) else (epoch + 1, 0)
                yield Group(batches, *after)

    def _epoch_pairs(self, epoch: int) -> Pairs:
        dropout = self._config.vocabulary.dropout
        seed = self._config.seed * 10_007 + epoch
        if dropout:
            pairs = sample(self._corpus, self._text, dropout, seed)
        else:
            pairs = tokenise(self._corpus, self._text)
        kept = pairs.shorter_than(self._config.optimisation.max_length)
        if not kept.source:
            raise DragomanError("no training pair is left within optimisation.max_length")
        log.info("epoch %d: %d of %d pairs", epoch, len(kept.source), len(pairs.source))
        return kept

    def _step(self, group: Group, reporter: Reporter) -> None:
        config, began = self._config, time.monotonic()
        number = self._now.step + 1
        result = train_step(
            self._model, self._optimiser, group.batches, number, config.optimisation, config.seed
        )
        seconds = time.monotonic() - began
        self._now = dataclasses.replace(
            self._now,
            step=number,
            epoch=group.next_epoch,
            group=group.next_group,
            seconds=self._now.seconds + seconds,
            tokens=self._now.tokens + result.tokens,
        )
        reporter.step(number, result, seconds)
        if number % config.validation.every == 0:
            self._validate(reporter)
        if number % config.checkpoints.every == 0:
            self._save()

    def _validate(self, reporter: Reporter) -> None:
        found = self._validation_of(self._model)
        best = found.scores.bleu > self._now.best_bleu
        reporter.validation(self._now.step, found, best)
        if best:
            self._now = dataclasses.replace(self._now, best_bleu=found.scores.bleu)
            self._folder.publish("best", self._model.state_dict(), self._model.config)

    def _validation_of(self, model: Transformer) -> Validation:
        corpus, pairs = self._validation_corpus, self._validation_pairs
        return validate(model, corpus, pairs, self._text, self._config.validation)

    def _save(self) -> None:
        keeping = self._config.checkpoints
        self._folder.save(self._model, self._optimiser, self._now)
        self._folder.prune(keeping.every, keeping.average)

    def _finish(self) -> None:
        """Save where the run is, and the averaged model so far."""
        keeping = self._config.checkpoints
        if self._now.step and self._now.step not in self._folder.steps():
            self._save()
        averaged = self._folder.publish_average(self._model.config, keeping.every, keeping.average)
        now: Progress = self._now
        log.info(
            "%d steps, %.2f M target tokens, %.2f hours; averaged model: %s",
            *(now.step, now.tokens / 1e6, now.seconds / 3600, averaged or "none yet"),
        )
        if averaged and not self._stop_asked:
            log.info(
                "averaged model on the validation set: %s",
                self._validation_of(load_model(averaged)),
            )
