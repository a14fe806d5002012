"""The highest rate that still holds, found by doubling and bisection."""

from __future__ import annotations

import math
from collections.abc import Callable

from serving.errors import DragomanError

LOWEST_RATE = 0.5
"""Sentences a second; a server that cannot hold this is not measured."""


def highest_rate(
    holds: Callable[[float], bool], start: float, factor: float = 2.0, tolerance: float = 0.05
) -> float:
    """Return a rate that holds, while one that is `tolerance` higher does not.

    Args:
        holds: tries a rate.
        start: the rate to try first.
        factor: step up or down until one rate holds and one does not.
        tolerance: relative width of the last bracket.

    Raises:
        DragomanError: no rate holds.
    """
    low, high = _bracket(holds, start, factor)
    while high / low > 1 + tolerance:
        middle = math.sqrt(low * high)
        if holds(middle):
            low = middle
        else:
            high = middle
    return low


def _bracket(holds: Callable[[float], bool], start: float, factor: float) -> tuple[float, float]:
    """A rate that holds and one that does not, `factor` apart."""
    if holds(start):
        low = start
        while holds(low * factor):
            low *= factor
        return low, low * factor
    high = start
    while not holds(high / factor):
        high /= factor
        if high < LOWEST_RATE:
            raise DragomanError(f"not even {high:g} sentences a second stay within the limit")
    return high / factor, high
