"""Which columns of a sentence's cache its rows descend from, where each step appends K columns.

The token that a sentence's k-th row writes at position p stands in column K p + k for ever. A
row sees the columns of its ancestors and its own; what became of other beams it does not see.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from serving.engine import Ids


class Ancestry:
    """The visible columns of all slots of a board.

    Args:
        visible: (slots, 1, K, L) bool, an input of the step, written in place. A row that is not
            in use sees the column that it writes, so that no row sees nothing.
    """

    def __init__(self, visible: NDArray[np.bool_]) -> None:
        self._visible = visible[:, 0]
        self._beams = visible.shape[2]
        self.forget(np.arange(len(visible)))

    def forget(self, slots: Ids) -> None:
        """Nobody stands on these slots, which are at position 0."""
        self._see_nothing_else(slots, np.zeros(len(slots), dtype=np.int64))

    def append(self, slot: Ids, place: Ids, parent: Ids, position: Ids) -> None:
        """One token for each of N rows.

        Args:
            slot: (N,) where each row's sentence stands; equal ones side by side.
            place: (N,) each row's place among those of its sentence.
            parent: (N,) the place that the row it continues had in the step before.
            position: (N,) the token's position, equal within a sentence.
        """
        seen = self._visible[slot, parent] & (position > 0)[:, None]  # (N, L)
        seen[np.arange(len(slot)), position * self._beams + place] = True
        first = np.flatnonzero(np.diff(slot, prepend=-1))
        self._see_nothing_else(slot[first], position[first])
        self._visible[slot, place] = seen

    def move(self, source: int, target: int) -> None:
        """A sentence changes its slot."""
        self._visible[target] = self._visible[source]

    def take_over(self, other: Ancestry, source: int, target: int) -> None:
        """A sentence comes from a board of as many beams and fewer columns."""
        columns = other._visible.shape[2]
        self._visible[target] = False
        self._visible[target, :, :columns] = other._visible[source]

    def _see_nothing_else(self, slots: Ids, position: Ids) -> None:
        """All rows of these slots see what they write at that position, alone."""
        own = position[:, None] * self._beams + np.arange(self._beams)
        self._visible[slots] = False
        self._visible[slots[:, None], np.arange(self._beams), own] = True
