"""What a run reads: vocabulary, training pairs in the order of their steps, validation set."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator

from model.data.batches import epoch_order
from model.data.corpus import Corpus
from model.data.group import Group
from model.data.tokenised import tokenise
from model.training.config import TrainingConfig
from model.training.distributed import World
from model.training.pair_source import open_pairs
from model.training.run_folder import RunFolder
from serving.errors import DragomanError
from serving.text import TextProcessor

log = logging.getLogger(__name__)

SAMPLE_SENTENCES = 200
"""Validation sentences kept with a model, for its export to prove itself on."""


class TrainingData:
    """The data of one configuration; every process of a run sees the same."""

    def __init__(self, config: TrainingConfig, folder: RunFolder, world: World) -> None:
        self._config = config
        self._source = open_pairs(config)
        self.validation_corpus = Corpus.read(
            config.validation_set.source, config.validation_set.target
        )
        if world.leads:
            self._prepare(folder)
        world.wait()
        self.text = TextProcessor.load(folder.vocabulary)
        self.validation_pairs = tokenise(self.validation_corpus, self.text)

    def _prepare(self, folder: RunFolder) -> None:
        sample_text = "\n".join(self.validation_corpus.source[:SAMPLE_SENTENCES]) + "\n"
        folder.sample.write_text(sample_text, encoding="utf-8")
        self._source.provide_vocabulary(folder.path)

    def groups(self, epoch: int, group: int) -> Iterator[Group]:
        """Groups from that place in the data on, without end."""
        options = self._config.optimisation
        for now in itertools.count(epoch):
            pairs = self._source.pairs(self.text, now)
            usable = pairs.usable(options.max_length)
            if not len(usable):
                raise DragomanError("no training pair is left within optimisation.max_length")
            log.info("epoch %d: %d of %d pairs", now, len(usable), len(pairs))
            order = epoch_order(pairs, usable, options.batch_tokens, self._config.seed, now)
            starts = range(0, len(order), options.accumulate)
            for place in range(group if now == epoch else 0, len(starts)):
                members = order[starts[place] : starts[place] + options.accumulate]
                last = place + 1 == len(starts)
                after = (now + 1, 0) if last else (now, place + 1)
                yield Group(pairs, members, self._config.model, *after)
