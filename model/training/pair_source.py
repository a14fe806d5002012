"""Where a run's training pairs come from: text that is tokenised here, or a prepared folder."""

from __future__ import annotations

import dataclasses
import functools
import logging
from pathlib import Path
from typing import Protocol

from model.data.augmentation.augmenter import Augmenter
from model.data.batches import Pairs
from model.data.corpus import Corpus
from model.data.prepared import MANIFEST, PreparedFolder
from model.data.tokenised import sample, tokenise
from model.data.vocabulary import VocabularyConfig, train_vocabulary
from model.training.config import PreparedPairs, TrainingConfig
from serving.atomic import copy_file
from serving.errors import ConfigError
from serving.text import VOCABULARY, TextProcessor

log = logging.getLogger(__name__)


class PairSource(Protocol):
    """Training pairs, and the vocabulary that belongs to them."""

    def provide_vocabulary(self, folder: Path) -> None:
        """Put the vocabulary into a run's folder, if it is not there yet."""
        ...

    def pairs(self, text: TextProcessor, epoch: int, /) -> Pairs:
        """The pairs of an epoch as ids of that vocabulary."""
        ...


class TextSource:
    """Text that is tokenised in memory; anew each epoch where anything of it is drawn."""

    def __init__(self, corpus: Corpus, config: TrainingConfig) -> None:
        self._corpus, self._config = corpus, config
        self._fixed: Pairs | None = None

    def provide_vocabulary(self, folder: Path) -> None:
        """Take that of the initial checkpoint, or learn one from the text."""
        path, vocabulary = folder / VOCABULARY, self._config.vocabulary
        if path.exists():
            return
        if self._config.initial and self._config.initial_vocabulary:
            copy_file(self._config.initial / VOCABULARY, path)
            return
        log.info("learning %d pieces from %d pairs", vocabulary.size, len(self._corpus))
        train_vocabulary(self._corpus, vocabulary, path)

    def pairs(self, text: TextProcessor, epoch: int) -> Pairs:
        """The text as ids."""
        dropout = self._config.vocabulary.dropout
        if not dropout and not self._config.augmentation.any:
            self._fixed = self._fixed or tokenise(self._corpus, text)
            return self._fixed
        corpus = self._augmenter(text).corpus(epoch)
        if dropout:
            return sample(corpus, text, dropout, self._config.seed * 10_007 + epoch)
        return tokenise(corpus, text)

    @functools.cache  # noqa: B019 - one source and one vocabulary a process
    def _augmenter(self, text: TextProcessor) -> Augmenter:
        config = self._config
        return Augmenter(self._corpus, config.augmentation, text.symbols, config.seed)


class PreparedSource:
    """A prepared folder, mapped into memory; its pairs are the same in every epoch."""

    def __init__(self, folder: PreparedFolder) -> None:
        self._folder = folder
        self._pairs = Pairs(folder.source, folder.target)

    def provide_vocabulary(self, folder: Path) -> None:
        """Copy the vocabulary, and the manifest to know the data again by.

        Raises:
            ConfigError: the run began with other data.
        """
        manifest = self._folder.path / MANIFEST
        if not (folder / MANIFEST).exists():
            copy_file(self._folder.vocabulary, folder / VOCABULARY)
            copy_file(manifest, folder / MANIFEST)
        elif (folder / MANIFEST).read_bytes() != manifest.read_bytes():
            raise ConfigError(
                f"{self._folder.path} has been prepared anew since the run in {folder} began; "
                "choose another output, or remove that folder to start again"
            )

    def pairs(self, _text: TextProcessor, _epoch: int, /) -> Pairs:
        """All pairs of the folder."""
        return self._pairs


def open_pairs(config: TrainingConfig) -> PairSource:
    """The training pairs of a configuration.

    Raises:
        DragomanError: files or folder cannot be used; it says why.
    """
    if isinstance(config.train, PreparedPairs):
        return PreparedSource(PreparedFolder.open(config.train.prepared))
    corpus = Corpus.read(config.train.source, config.train.target)
    return TextSource(corpus, config)


def with_prepared_size(config: TrainingConfig) -> TrainingConfig:
    """The configuration with V of its prepared folder, if it has one.

    Raises:
        ConfigError: the configuration asks for another V.
        DragomanError: there is no such folder.
    """
    if not isinstance(config.train, PreparedPairs):
        return config
    size = PreparedFolder.open(config.train.prepared).manifest.vocabulary_size
    if config.vocabulary.size not in (size, VocabularyConfig.size):
        raise ConfigError(
            f"vocabulary.size is {config.vocabulary.size}, but {config.train.prepared} was "
            f"prepared with {size} pieces; leave vocabulary.size out to take them"
        )
    vocabulary = dataclasses.replace(config.vocabulary, size=size)
    return dataclasses.replace(config, vocabulary=vocabulary)
