"""Sentence pairs as what alignments are judged on: pieces, words, and which is whose."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from model.diagonal import Links, Silver
from serving.alignment import mutual_best, word_attention
from serving.engine import Ids
from serving.text import TextProcessor
from serving.words import word_of_each, words


@dataclasses.dataclass(frozen=True, eq=False)
class WordPair:
    """One sentence pair.

    Attributes:
        source: ids, closed by EOS.
        target: ids, closed by EOS.
        source_words: as they stand in the text.
        target_words: as above.
        columns: (S,) each source id's word, or -1.
        rows: (T,) each target id's word, or -1.
    """

    source: list[int]
    target: list[int]
    source_words: list[str]
    target_words: list[str]
    columns: Ids
    rows: Ids

    @classmethod
    def of(cls, text: TextProcessor, source: str, target: str) -> WordPair:
        """Tokenise a pair."""
        ids, found, places = zip(*(_side(text, side) for side in (source, target)), strict=True)
        return cls(*ids, *found, *places)

    def between(self, attention: NDArray[np.float32]) -> NDArray[np.float64]:
        """Attention (T, S) between words, target words by source words."""
        shape = (len(self.target_words), len(self.source_words))
        return word_attention(attention, self.columns, self.rows, shape)


def _side(text: TextProcessor, line: str) -> tuple[list[int], list[str], Ids]:
    ids, spans = text.encode_spans(line)
    found = words(line)
    return ids, [line[start:end] for start, end in found], word_of_each(spans, found)


def casefolded(found: Sequence[str]) -> list[str]:
    """Words as statistics count them, whatever their case."""
    return [word.casefold() for word in found]


def links_of(between: NDArray[np.float64]) -> Links:
    """Source and target word of each link, as served alignments have them."""
    return {(source, target) for target, source in mutual_best(between).items()}


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Links held to silver ones, over all sentences (Och and Ney 2003).

    Attributes:
        precision: links that are possible.
        recall: sure links that were found.
        error_rate: AER, 0 where all links are possible and all sure ones are found.
    """

    precision: float
    recall: float
    error_rate: float

    @classmethod
    def of(cls, found: Sequence[Links], silver: Sequence[Silver]) -> Agreement:
        """Compare sentence by sentence."""
        links = sum(map(len, found))
        sure = sum(len(one.sure) for one in silver)
        hits = sum(len(a & one.sure) for a, one in zip(found, silver, strict=True))
        allowed = sum(len(a & one.possible) for a, one in zip(found, silver, strict=True))
        return cls(
            allowed / max(links, 1),
            hits / max(sure, 1),
            1 - (hits + allowed) / max(links + sure, 1),
        )
