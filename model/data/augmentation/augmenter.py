"""Changes pairs of a corpus at random; the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Sequence

from model.data.augmentation import noise
from model.data.augmentation.anchors import Anchors
from model.data.augmentation.config import AugmentationConfig
from model.data.augmentation.symbols import plant
from model.data.corpus import Corpus
from serving.errors import ConfigError


class Augmenter:
    """Draws the changes of one epoch after another."""

    def __init__(
        self, corpus: Corpus, config: AugmentationConfig, symbols: Sequence[str], seed: int
    ) -> None:
        """Learn from the corpus which words translate each other, if symbols are wanted.

        Raises:
            ConfigError: symbols are wanted of a vocabulary that has none.
        """
        if config.symbols and not symbols:
            raise ConfigError("augmentation.symbols needs vocabulary.placeholders, which is 0")
        self._corpus, self._config, self._symbols, self._seed = corpus, config, symbols, seed
        self._style = noise.usual_quotes(corpus.target)
        self._anchors = Anchors.learn(corpus) if config.symbols else None

    def corpus(self, epoch: int) -> Corpus:
        """The corpus as an epoch sees it: as many pairs, in the same order."""
        draw = random.Random(self._seed * 10_007 + epoch)
        lines = zip(self._corpus.source, self._corpus.target, strict=True)
        changed = [self._changed(source, target, draw) for source, target in lines]
        return Corpus([source for source, _ in changed], [target for _, target in changed])

    def _changed(self, source: str, target: str, draw: random.Random) -> tuple[str, str]:
        config = self._config
        pair = source, target
        if draw.random() < config.numbers:
            pair = noise.renumbered(*pair, draw)
        if draw.random() < config.quotes:
            pair = noise.requoted(*pair, draw)
        if draw.random() < config.endings:
            pair = noise.without_ending(*pair)
        if self._anchors and draw.random() < config.symbols:
            pair = plant(*pair, self._anchors, self._symbols, draw)
        if draw.random() < config.quoted:
            pair = noise.quoted(*pair, self._style, draw)
        if draw.random() < config.lowercase:
            pair = noise.lowercase(*pair)
        return pair
