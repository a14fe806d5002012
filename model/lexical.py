"""Which target pieces translate a source piece: IBM Model 1 (Brown et al. 1993), by EM.

"The Mathematics of Statistical Machine Translation", section 4.1: every target piece has come
from one of the source pieces or from nothing, all equally likely beforehand. Sparse arrays hold
a number for each pair of pieces that was ever seen in one pair of sentences.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.data.batches import Pairs
from serving.engine import Ids

Doubles = NDArray[np.float64]

CELLS = 1 << 21
"""Pairs of tokens that are looked at together: what bounds the memory of a pass."""

MAX_ENTRIES = 1 << 25
"""Pairs of pieces that are remembered; of more, the rarest are forgotten."""

_LEAST = 1e-7
"""Less probable translations are forgotten between passes."""


class Cells(NamedTuple):
    """All pairs of a source and a target token in some pairs of sentences.

    Attributes:
        key: (cells,) source * V + target, one target token after another; source V is nothing.
        first: (tokens,) where each target token's cells begin.
    """

    key: Ids
    first: Ids


@dataclasses.dataclass(frozen=True, eq=False)
class Lexicon:
    """How probable a target piece is as the translation of a source piece.

    Attributes:
        vocab_size: V, of source and target together.
        key: (entries,) source * V + target, ascending; source V is nothing.
        probability: (entries,) given the source.
    """

    vocab_size: int
    key: Ids
    probability: Doubles

    def best(self, count: int) -> tuple[Ids, Ids]:
        """The most probable translations of each piece, at most `count`.

        Returns:
            Where each piece's begin and the last end (V + 1,), and ids (total,), best first.
        """
        source, target = np.divmod(self.key, self.vocab_size)
        order = np.lexsort((target, -self.probability, source))
        source, target = source[order], target[order]
        rank = np.arange(len(source)) - np.searchsorted(source, source)
        kept = (rank < count) & (source < self.vocab_size)
        offsets = np.searchsorted(source[kept], np.arange(self.vocab_size + 1))
        return offsets.astype(np.int64), target[kept]

    def lookup(self, key: Ids) -> tuple[Ids, Doubles]:
        """Places of keys among the entries, and probabilities: 0 for what is forgotten."""
        place = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        found = self.key[place] == key
        return place, np.where(found, self.probability[place], 0.0)


def learn(
    pairs: Pairs, vocab_size: int, iterations: int, on_chunk: Callable[[], object]
) -> Lexicon:
    """Estimate translation probabilities.

    Args:
        pairs: tokenised; a pair with an empty side is left out.
        vocab_size: V.
        iterations: of EM.
        on_chunk: called `passes(pairs, iterations)` times, as the work goes on.
    """
    lexicon = _seen(pairs, vocab_size, on_chunk)
    for _ in range(iterations):
        count = np.zeros(len(lexicon.key))
        for cells in _chunks(pairs, vocab_size):
            count += _expected(lexicon, cells)
            on_chunk()
        lexicon = _normalised(vocab_size, lexicon.key, count)
    return lexicon


def passes(pairs: Pairs, iterations: int) -> int:
    """Chunks that `learn` works through."""
    return (iterations + 1) * (len(_bounds(pairs)) - 1)


def _seen(pairs: Pairs, vocab_size: int, on_chunk: Callable[[], object]) -> Lexicon:
    """All pairs of pieces that stand in a pair of sentences, by how often they do."""
    key, count = np.zeros(0, dtype=np.int64), np.zeros(0)
    for cells in _chunks(pairs, vocab_size):
        new, times = np.unique(cells.key, return_counts=True)
        key, place = np.unique(np.concatenate((key, new)), return_inverse=True)
        count = np.bincount(place, np.concatenate((count, times))).astype(np.float64)
        if len(key) > MAX_ENTRIES:
            kept = np.sort(np.argpartition(-count, MAX_ENTRIES // 2)[: MAX_ENTRIES // 2])
            key, count = key[kept], count[kept]
        on_chunk()
    return _normalised(vocab_size, key, count)


def _expected(lexicon: Lexicon, cells: Cells) -> Doubles:
    """How often each entry is expected to be a translation in these cells: (entries,)."""
    place, probability = lexicon.lookup(cells.key)
    total = np.add.reduceat(probability, cells.first)
    tokens = np.diff(np.append(cells.first, len(cells.key)))
    share = probability / np.repeat(np.maximum(total, np.finfo(float).tiny), tokens)
    return np.bincount(place, share, minlength=len(lexicon.key)).astype(np.float64)


def _normalised(vocab_size: int, key: Ids, count: Doubles) -> Lexicon:
    """Probabilities of counts; those of each source add up to one before the least are left out."""
    source = key // vocab_size
    total = np.bincount(source, count, minlength=vocab_size + 1)
    probability = count / np.maximum(total, np.finfo(float).tiny)[source]
    kept = probability > _LEAST
    return Lexicon(vocab_size, key[kept], probability[kept])


def _lengths(pairs: Pairs) -> tuple[Ids, Ids]:
    """Tokens of each pair's sides without EOS; none on both where a side is empty."""
    source, target = pairs.source.lengths - 1, pairs.target.lengths - 1
    usable = (source > 0) & (target > 0)
    return np.where(usable, source, 0), np.where(usable, target, 0)


def _bounds(pairs: Pairs) -> list[int]:
    """Where chunks of about `CELLS` cells begin, and where the last ends."""
    source, target = _lengths(pairs)
    chunk = np.cumsum((source + 1) * target) // CELLS
    return [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist(), len(pairs)]


def _chunks(pairs: Pairs, vocab_size: int) -> Iterator[Cells]:
    lengths = _lengths(pairs)
    bounds = _bounds(pairs)
    for begin, end in itertools.pairwise(bounds):
        source, target = (length[begin:end] for length in lengths)
        sources = _tokens(pairs.source.ids, pairs.source.offsets[begin:end], source)
        targets = _tokens(pairs.target.ids, pairs.target.offsets[begin:end], target)
        yield _cells(sources, targets, source, target, vocab_size)


def _tokens(ids: NDArray[Any], offsets: Ids, lengths: Ids) -> Ids:
    """The first tokens of sentences that begin at these offsets, one after the other."""
    first = np.cumsum(lengths) - lengths
    found: Ids = ids[np.arange(lengths.sum()) + np.repeat(offsets - first, lengths)]
    return found.astype(np.int64)


def _cells(
    sources: Ids, targets: Ids, source_lengths: Ids, target_lengths: Ids, vocab_size: int
) -> Cells:
    """Cells of tokens (sum of lengths,); nothing comes before each source sentence."""
    starts = np.cumsum(source_lengths) - source_lengths
    with_nothing = np.insert(sources, starts, vocab_size)
    starts += np.arange(len(starts))
    repeats = np.repeat(source_lengths + 1, target_lengths)  # of each target token
    first = np.cumsum(repeats) - repeats
    shift = np.repeat(np.repeat(starts, target_lengths) - first, repeats)
    source = with_nothing[np.arange(len(shift)) + shift]
    return Cells(source * vocab_size + np.repeat(targets, repeats), first)
