"""Word alignments by statistics alone, to choose and judge a model's attention by.

IBM Model 2 with a prior along the diagonal (Dyer et al. 2013, "A Simple, Fast, and Effective
Reparameterization of IBM Model 2"), by EM in both directions over a corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serving.engine import Ids

TENSION = 4.0
"""How strongly the prior holds to the diagonal."""

NOTHING = 0.08
"""Probability that a word comes from no word."""

ITERATIONS = 5

Links = set[tuple[int, int]]
"""Source and target word of each link of a sentence pair."""


class Silver(NamedTuple):
    """Links of one sentence pair.

    Attributes:
        sure: found in both directions.
        possible: found in either.
    """

    sure: Links
    possible: Links


def silver_links(
    sources: Sequence[Sequence[str]],
    targets: Sequence[Sequence[str]],
    wanted: int,
    on_iteration: Callable[[], object],
) -> list[Silver]:
    """Align the words of sentence pairs.

    Args:
        sources: words of each sentence.
        targets: words of each translation.
        wanted: how many pairs, from the first on, to return links of; all are learned from.
        on_iteration: called `2 * ITERATIONS` times as the work goes on.
    """
    if not any(map(len, targets)):
        return [Silver(set(), set())] * wanted
    source_ids, target_ids = _numbered(sources), _numbered(targets)
    forward = _viterbi(source_ids, target_ids, wanted, on_iteration)
    backward = _viterbi(target_ids, source_ids, wanted, on_iteration)
    found = []
    for one, other in zip(forward, backward, strict=True):
        turned = {(source, target) for target, source in other}
        found.append(Silver(one & turned, one | turned))
    return found


def _numbered(sentences: Sequence[Sequence[str]]) -> list[Ids]:
    """Words as numbers from 1; 0 is no word."""
    numbers: dict[str, int] = {}
    return [
        np.array([numbers.setdefault(word, len(numbers) + 1) for word in words], dtype=np.int64)
        for words in sentences
    ]


def _viterbi(
    sources: Sequence[Ids], targets: Sequence[Ids], wanted: int, on_iteration: Callable[[], object]
) -> list[Links]:
    """The most probable source word of each target word, where it is one."""
    key, prior, first = _cells(sources, targets)
    distinct, cell = np.unique(key, return_inverse=True)
    source = distinct >> 32
    probability = np.full(len(distinct), 1.0)
    width = np.diff(np.append(first, len(key)))
    for _ in range(ITERATIONS):
        weight = prior * probability[cell]
        weight /= np.repeat(np.add.reduceat(weight, first), width)
        count = np.bincount(cell, weight)
        probability = count / np.bincount(source, count)[source]
        on_iteration()
    weight = prior * probability[cell]
    found: list[Links] = []
    place = 0
    for one, other in zip(sources[:wanted], targets[:wanted], strict=True):
        grid = weight[place : place + (len(one) + 1) * len(other)].reshape(-1, len(one) + 1)
        place += grid.size
        best = grid.argmax(axis=1) - 1
        found.append({(int(s), t) for t, s in enumerate(best) if s >= 0})
    return found


def _cells(sources: Sequence[Ids], targets: Sequence[Ids]) -> tuple[Ids, NDArray[np.float64], Ids]:
    """All pairs of words of all pairs of sentences, target word by target word.

    Returns:
        Both words of each cell in one number, its prior, and where each target word's cells begin.
    """
    keys, priors, widths = [], [], []
    for source, target in zip(sources, targets, strict=True):
        words = np.concatenate(([0], source))
        keys.append((words << 32 | target[:, None]).ravel())
        priors.append(_prior(len(target), len(source)).ravel())
        widths.append(np.full(len(target), len(words)))
    width = np.concatenate(widths)
    return np.concatenate(keys), np.concatenate(priors), np.cumsum(width) - width


def _prior(targets: int, sources: int) -> NDArray[np.float64]:
    """(targets, 1 + sources): no word first, then the source words, near the diagonal."""
    row = (np.arange(targets)[:, None] + 0.5) / targets
    column = (np.arange(sources) + 0.5) / max(sources, 1)
    near = np.exp(-TENSION * np.abs(row - column))
    near *= (1 - NOTHING) / np.maximum(near.sum(axis=1, keepdims=True), 1e-300)
    return np.concatenate((np.full((targets, 1), NOTHING), near), axis=1)
