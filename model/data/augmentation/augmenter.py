"""Changes pairs of a corpus at random; the same for the same seed."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence

from model.data.augmentation import clauses, noise, numbers
from model.data.augmentation.anchors import Anchors
from model.data.augmentation.config import AugmentationConfig
from model.data.augmentation.names import renamed
from model.data.augmentation.noise import Pair
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
            ConfigError: symbols are wanted of a vocabulary that has none, or pairs with numbers
                of a corpus that has none.
        """
        for name in ("symbols", "hidden"):
            if getattr(config, name) and not symbols:
                raise ConfigError(f"augmentation.{name} needs vocabulary.placeholders, which is 0")
        self._corpus, self._config, self._symbols, self._seed = corpus, config, symbols, seed
        self._style = noise.usual_quotes(corpus.target)
        self._anchors = Anchors.learn(corpus) if config.needs_anchors else None
        self._with_number = self._places_of_numbers() if config.repeated else []

    def corpus(self, epoch: int) -> Corpus:
        """The corpus as an epoch sees it: as many pairs, in the same order."""
        draw = random.Random(self._seed * 10_007 + epoch)
        lines = zip(self._corpus.source, self._corpus.target, strict=True)
        changed = [self._changed(pair, draw) for pair in lines]
        return Corpus([source for source, _ in changed], [target for _, target in changed])

    @functools.cached_property
    def _casings(self) -> tuple[clauses.Casing, clauses.Casing]:
        return clauses.Casing(self._corpus.source), clauses.Casing(self._corpus.target)

    def _changed(self, pair: Pair, draw: random.Random) -> Pair:
        config = self._config
        if draw.random() < config.repeated:
            pair = self._pair(draw.choice(self._with_number))
        if draw.random() < config.joined:
            pair = self._joined(pair, draw)
        if draw.random() < config.counted:
            pair = numbers.counted(*pair, config.number_words, draw)
        if draw.random() < config.numbers:
            pair = numbers.renumbered(*pair, draw)
        if draw.random() < config.quotes:
            pair = noise.requoted(*pair, draw)
        if draw.random() < config.endings:
            pair = noise.without_ending(*pair)
        if self._anchors:
            pair = self._with_other_words(pair, self._anchors, draw)
        if draw.random() < config.hidden:
            pair = numbers.hidden(*pair, self._symbols, draw)
        if draw.random() < config.quoted:
            pair = noise.quoted(*pair, self._style, draw)
        if draw.random() < config.lowercase:
            pair = noise.lowercase(*pair)
        return pair

    def _pair(self, place: int) -> Pair:
        return self._corpus.source[place], self._corpus.target[place]

    def _places_of_numbers(self) -> list[int]:
        words = self._config.number_words
        places = range(len(self._corpus))
        found = [place for place in places if numbers.has_number(*self._pair(place), words)]
        if not found:
            raise ConfigError("augmentation.repeated: no pair of the corpus has a number")
        return found

    def _joined(self, pair: Pair, draw: random.Random) -> Pair:
        other = self._pair(draw.randrange(len(self._corpus)))
        if self._anchors and draw.random() < 0.3:
            return clauses.inserted(pair, other, self._anchors, self._casings, draw)
        return clauses.joined(pair, other, self._casings, draw)

    def _with_other_words(self, pair: Pair, anchors: Anchors, draw: random.Random) -> Pair:
        config = self._config
        if draw.random() < config.names:
            pair = renamed(pair, anchors, draw)
        if draw.random() < config.marked:
            pair = clauses.marked(pair, anchors, self._style, draw)
        if draw.random() < config.symbols:
            pair = plant(pair, anchors, self._symbols, draw)
        return pair
