"""A training run that goes on exactly where it was, however it was interrupted."""

from __future__ import annotations

import dataclasses
import logging
import signal
import time
from pathlib import Path
from types import FrameType

import torch

from model.architectures import build_model
from model.attention import use_fused_attention
from model.checkpoint import begin_with, load_model
from model.data.group import Group
from model.training.config import TrainingConfig, check_resumable
from model.training.data import TrainingData
from model.training.distributed import World
from model.training.initial import begin_with_pieces
from model.training.learner import Learner
from model.training.pair_source import with_prepared_size
from model.training.progress import Reporter
from model.training.run_folder import Progress, RunFolder
from model.training.validation import Validation, validate
from model.translation_model import TranslationModel

log = logging.getLogger(__name__)


class Trainer:
    """Runs one configuration to its last step, in one process of its world."""

    def __init__(self, config: TrainingConfig, world: World) -> None:
        config = with_prepared_size(config)
        self._config, self._world = config, world
        self._folder = RunFolder(config.output)
        self._stop_asked = False
        if self._folder.config.exists():
            check_resumable(TrainingConfig.load(self._folder.config), config)
        world.wait()
        if world.leads:
            config.save(self._folder.config)
        self._data = TrainingData(config, self._folder, world)
        torch.manual_seed(config.seed)
        model = build_model(config.model).train().to(world.device)
        if world.device.type == "cuda":  # on a CPU they are no faster at sentence lengths
            use_fused_attention(model)
        self._learner = Learner(model, config.optimisation, config.seed, world)
        if config.initial and not self._folder.steps():
            if config.initial_vocabulary:
                begin_with(model, config.initial)
            else:
                begin_with_pieces(model, config.initial, self._data.text)
        self._now = self._folder.restore(self._learner)

    @property
    def progress(self) -> Progress:
        """How far the run is."""
        return self._now

    def run(self) -> bool:
        """Train until the last step; False if SIGINT or SIGTERM ended it earlier."""
        steps = self._config.optimisation.steps
        parameters = sum(p.numel() for p in self._learner.model.parameters())
        log.info("%.2f M parameters, step %d of %d", parameters / 1e6, self._now.step, steps)
        previous = {s: signal.signal(s, self._ask_stop) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            with Reporter(steps, self._now.step, self._tensorboard()) as reporter:
                for group in self._data.groups(self._now.epoch, self._now.group):
                    if self._now.step >= steps or self._all_stop():
                        break  # this group is the next run's first
                    self._step(group, reporter)
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
        if self._world.leads:
            self._finish()
        self._world.wait()
        return self._now.step >= steps

    def _tensorboard(self) -> Path | None:
        return self._folder.tensorboard if self._world.leads else None

    def _ask_stop(self, _number: int, _frame: FrameType | None) -> None:
        log.warning("stopping after this step; run the same command to go on")
        self._stop_asked = True

    def _all_stop(self) -> bool:
        """Whether any process was asked to; all must stop after the same step."""
        asked = torch.tensor([float(self._stop_asked)], device=self._world.device)
        return self._world.sums(asked)[0] > 0

    def _step(self, group: Group, reporter: Reporter) -> None:
        config, began = self._config, time.monotonic()
        number = self._now.step + 1
        result = self._learner.step(number, group)
        seconds = time.monotonic() - began
        self._now = dataclasses.replace(
            self._now,
            step=number,
            epoch=group.next_epoch,
            group=group.next_group,
            seconds=self._now.seconds + seconds,
            tokens=self._now.tokens + result.tokens,
        )
        if self._world.leads:
            reporter.step(number, result, seconds)
            if number % config.validation.every == 0:
                self._validate(reporter)
            if number % config.checkpoints.every == 0:
                self._save()

    def _validate(self, reporter: Reporter) -> None:
        model = self._learner.model
        found = self._validation_of(model)
        best = found.scores.bleu > self._now.best_bleu
        reporter.validation(self._now.step, found, best)
        if best:
            self._now = dataclasses.replace(self._now, best_bleu=found.scores.bleu)
            self._folder.publish("best", model.state_dict(), model.config)

    def _validation_of(self, model: TranslationModel) -> Validation:
        data = self._data
        corpus, pairs = data.validation_corpus, data.validation_pairs
        return validate(model, corpus, pairs, data.text, self._config.validation)

    def _save(self) -> None:
        keeping = self._config.checkpoints
        self._folder.save(self._learner, self._now)
        self._folder.prune(keeping.every, keeping.average)

    def _finish(self) -> None:
        """Save where the run is, and the averaged model so far."""
        keeping = self._config.checkpoints
        if self._now.step and self._now.step not in self._folder.steps():
            self._save()
        model = self._learner.model.config
        averaged = self._folder.publish_average(model, keeping.every, keeping.average)
        now: Progress = self._now
        log.info(
            "%d steps, %.2f M target tokens, %.2f hours; averaged model: %s",
            *(now.step, now.tokens / 1e6, now.seconds / 3600, averaged or "none yet"),
        )
        if averaged and now.step >= self._config.optimisation.steps:
            log.info(
                "averaged model on the validation set: %s",
                self._validation_of(load_model(averaged).to(self._world.device)),
            )
