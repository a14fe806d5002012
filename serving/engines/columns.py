"""Which column of a sentence's self-attention cache holds which token of its beams' past.

The beams of a sentence share one cache, a tree: a token that several beams descend from is kept
once, and no column moves when beams are reordered. What a beam sees is a row of booleans. A
column is free again as soon as no live beam descends from its token.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serving.engine import Ids, Rows

GRANULE = 16
"""Columns by which caches grow and shrink."""


class Appended(NamedTuple):
    """Where one step writes, and what it sees.

    Attributes:
        column: (N,) of each row's newest token, the lowest that are free: it depends on the
            row's own sentence alone.
        visible: (N, L) the columns that each row attends to, its newest token's included.
    """

    column: Ids
    visible: NDArray[np.bool_]


class Columns:
    """The columns of all sentences in flight, by the rows of the last step."""

    def __init__(self) -> None:
        self._visible = np.zeros((1, 0), dtype=bool)

    @property
    def width(self) -> int:
        """L, the columns that each sentence has."""
        return self._visible.shape[1]

    def append(self, rows: Rows) -> Appended:
        """Give every row a column for its newest token; `width` may change."""
        place, beams = rows.places
        begun = rows.position > 0
        visible = self._visible[np.where(begun, rows.parent, 0)] & begun[:, None]  # (N, L)
        used = np.logical_or.reduceat(visible, np.flatnonzero(place == 0), axis=0)  # (B, L)
        width = self._width_for(used, np.bincount(rows.sentence))
        visible, used = _resize(visible, width), _resize(used, width)
        free = np.argsort(used, axis=1, kind="stable")[:, :beams]
        column = free[rows.sentence, place]
        visible[np.arange(len(column)), column] = True
        self._visible = visible
        return Appended(column, visible)

    def _width_for(self, used: NDArray[np.bool_], counts: Ids) -> int:
        """Room for all; less than now only where less than half of it is needed."""
        highest = np.flatnonzero(used.any(axis=0))
        last = int(highest[-1]) + 1 if highest.size else 0
        needed = max(last, int((used.sum(axis=1) + counts).max()))
        needed = -(-needed // GRANULE) * GRANULE
        return needed if needed > self.width or 2 * needed < self.width else self.width


def _resize(array: NDArray[np.bool_], width: int) -> NDArray[np.bool_]:
    """Cut (M, L) to `width` columns, or pad it with False."""
    if width == array.shape[1]:
        return array
    resized = np.zeros((len(array), width), dtype=bool)
    kept = min(width, array.shape[1])
    resized[:, :kept] = array[:, :kept]
    return resized
