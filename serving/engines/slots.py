"""Keys and values of the sentences in flight, in arrays that graphs read and write in place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from serving.engine import Ids

Floats = NDArray[np.float32]


class Slots:
    """Several arrays (slots, H, W, D/H) of equal shape; a sentence's slot is one row of each.

    Args:
        arrays: how many.
        heads: H.
        d_head: D/H.
    """

    def __init__(self, arrays: int, heads: int, d_head: int) -> None:
        empty = np.zeros((0, heads, 0, d_head), dtype=np.float32)
        self._arrays: list[Floats] = [empty] * arrays

    @property
    def width(self) -> int:
        """W."""
        return self._arrays[0].shape[2]

    def first(self, count: int) -> list[Floats]:
        """The first slots of every array, as one block of memory each."""
        return [array[:count] for array in self._arrays]

    def reserve(self, slots: int, width: int) -> bool:
        """Make room for that many slots of exactly that width; whether arrays were replaced."""
        capacity, heads, old_width, d_head = self._arrays[0].shape
        if slots <= capacity and width == old_width:
            return False
        if slots > capacity:
            capacity = max(slots, capacity + capacity // 2)
        kept = min(width, old_width)
        for index, old in enumerate(self._arrays):
            new = np.zeros((capacity, heads, width, d_head), dtype=np.float32)
            new[: len(old), :, :kept] = old[:, :, :kept]
            self._arrays[index] = new
        return True

    def adopt(self, arrays: Sequence[Floats]) -> None:
        """Take arrays (B, H, W, D/H) for the first slots, without a copy."""
        self._arrays = list(arrays)

    def write(self, slots: Ids, arrays: Sequence[Floats]) -> None:
        """Copy (len(slots), H, up to W, D/H) into these slots."""
        for mine, new in zip(self._arrays, arrays, strict=True):
            mine[slots, :, : new.shape[2]] = new

    def move(self, source: Ids, target: Ids) -> None:
        """Copy slots."""
        for array in self._arrays:
            array[target] = array[source]
