"""From attention between pieces to links between words."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from serving.words import Span, is_symbol, word_of_each, words


@dataclasses.dataclass(frozen=True)
class Link:
    """A source word and the target word that come from each other, as spans of characters.

    Attributes:
        source_start: of the word in the segment.
        source_end: the character after it.
        target_start: of the word in the translation.
        target_end: the character after it.
    """

    source_start: int
    source_end: int
    target_start: int
    target_end: int


class Pieces(NamedTuple):
    """A text, and the characters that each of its ids stands for.

    Attributes:
        text: as it was given, or as it was decoded.
        spans: one an id; see `TextProcessor.encode_spans` and `decode_spans`.
    """

    text: str
    spans: Sequence[Span]


def word_links(attention: NDArray[Any], source: Pieces, target: Pieces) -> list[Link]:
    """Link the words that look at each other most.

    A target word's attention is that of its pieces, to all pieces of a source word together. Two
    words are linked when each is the other's best; so a word has one link or none. A
    reserved symbol is linked to itself alone, wherever the model looked.

    Args:
        attention: (T, S) of every target id to every source id.
        source: S ids.
        target: T ids.

    Returns:
        Links in the order of the target.
    """
    source_words, target_words = words(source.text), words(target.text)
    symbols = _symbol_links(source.text, source_words, target.text, target_words)
    found = dict(symbols)
    between = word_attention(
        attention,
        word_of_each(source.spans, source_words),
        word_of_each(target.spans, target_words),
        (len(target_words), len(source_words)),
    )
    between[:, _symbols(source.text, source_words)] = 0.0
    between[_symbols(target.text, target_words)] = 0.0
    found.update(mutual_best(between))
    return [Link(*source_words[found[t]], *target_words[t]) for t in sorted(found)]


def word_attention(
    attention: NDArray[Any], columns: NDArray[Any], rows: NDArray[Any], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """Attention between words, (words of the target, words of the source).

    Args:
        attention: (T, S) between pieces.
        columns: (S,) each source piece's word, or -1.
        rows: (T,) each target piece's word, or -1.
        shape: of the result.
    """
    summed = np.zeros((len(rows), shape[1]))
    inside = np.flatnonzero(columns >= 0)
    np.add.at(summed.T, columns[inside], attention.T[inside])
    between = np.zeros(shape)
    inside = np.flatnonzero(rows >= 0)
    np.add.at(between, rows[inside], summed[inside])
    counts = np.bincount(rows[inside], minlength=shape[0])
    between /= np.maximum(counts, 1)[:, None]
    return between


def mutual_best(between: NDArray[Any]) -> dict[int, int]:
    """The source word of each target word where both attend to each other most."""
    if not between.size:
        return {}
    sources, targets = between.argmax(axis=1), between.argmax(axis=0)
    return {
        target: int(source)
        for target, source in enumerate(sources)
        if targets[source] == target and between[target, source] > 0
    }


def _symbols(text: str, found: Sequence[Span]) -> list[int]:
    """Which words are reserved symbols."""
    return [i for i, (start, end) in enumerate(found) if is_symbol(text[start:end])]


def _symbol_links(
    source: str, source_words: Sequence[Span], target: str, target_words: Sequence[Span]
) -> dict[int, int]:
    """Source word of each reserved symbol of the target; equal ones in their order."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for index in reversed(_symbols(source, source_words)):
        places[source[slice(*source_words[index])]].append(index)
    found: dict[int, int] = {}
    for index in _symbols(target, target_words):
        waiting = places[target[slice(*target_words[index])]]
        if waiting:
            found[index] = waiting.pop()
    return found
