"""BPE-dropout (Provilkov et al. 2020): merges left out at random, anew each epoch.

SentencePiece can do it too, but its draws differ from process to process whatever the seed, so
that an interrupted run could not go on with the same batches.
"""

from __future__ import annotations

import collections
import itertools
import random
from collections.abc import Iterable, Sequence

from serving.text import WORD_START, TextProcessor

VARIANTS = 4
"""Segmentations drawn for a word and epoch at most; its occurrences share them."""


class BpeDropout:
    """Draws segmentations of texts; the same for the same seed."""

    def __init__(self, text: TextProcessor, dropout: float, seed: int) -> None:
        self._text = text
        self._ids = text.piece_ids()
        self._dropout = dropout
        self._random = random.Random(seed)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, closed by EOS; an empty list for a blank text."""
        words = [self._text.words(text) for text in texts]
        counts = collections.Counter(word for line in words for word in line)
        variants = {
            word: [self._segment(word) for _ in range(min(count, VARIANTS))]
            for word, count in counts.items()
        }
        return [self._join(variants[word] for word in line) for line in words]

    def _join(self, choices: Iterable[list[list[int]]]) -> list[int]:
        ids = [i for segments in choices for i in segments[self._draw(len(segments))]]
        return [*ids, self._text.eos_id] if ids else []

    def _draw(self, count: int) -> int:
        return int(self._random.random() * count)

    def _segment(self, word: str) -> list[int]:
        """Merge the characters of a word; the earlier a piece was learned, the lower its id."""
        symbols = [WORD_START, *word]
        while len(symbols) > 1:
            merges = [
                (self._ids[left + right], place)
                for place, (left, right) in enumerate(itertools.pairwise(symbols))
                if left + right in self._ids and self._random.random() >= self._dropout
            ]
            if not merges:
                break
            _, place = min(merges)
            symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]
        if any(symbol not in self._ids for symbol in symbols):
            return self._text.encode(word)[:-1]  # characters that only bytes can spell
        return [self._ids[symbol] for symbol in symbols]
