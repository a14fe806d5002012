"""Ways from attention between words to links, beside the one that is served."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from model.diagonal import Links
from model.word_pairs import links_of

Rule = Callable[[NDArray[np.float64]], Links]
"""Attention (target words, source words) -> links."""

SERVED = "each the other's best"


def best_source(between: NDArray[np.float64]) -> Links:
    """The source word that each target word looks at most."""
    if not between.size:
        return set()
    return {(int(source), target) for target, source in enumerate(between.argmax(axis=1))}


def best_target(between: NDArray[np.float64]) -> Links:
    """The target word that looks at each source word most."""
    return {(source, target) for target, source in best_source(between.T)}


def above(threshold: float) -> Rule:
    """Every pair of words with at least that share."""

    def rule(between: NDArray[np.float64]) -> Links:
        targets, sources = np.nonzero(between >= threshold)
        return set(zip(sources.tolist(), targets.tolist(), strict=True))

    return rule


def best_source_above(threshold: float) -> Rule:
    """The source word that each target word looks at most, where it has at least that share."""
    return lambda between: best_source(between) & above(threshold)(between)


RULES: dict[str, Rule] = {
    SERVED: links_of,
    "a target word's best": best_source,
    "a target word's best, if 0.3 or more": best_source_above(0.3),
    "a target word's best, if 0.4 or more": best_source_above(0.4),
    "all of 0.2 or more": above(0.2),
    "all of 0.3 or more": above(0.3),
    "all of 0.4 or more": above(0.4),
    "best of either": lambda between: best_source(between) | best_target(between),
}
