"""Many token sequences in one flat array: in memory, or mapped from a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Lengths = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class TokenArray:
    """Token ids of n sequences, one after the other.

    A Python list of 4.5 million sequences takes tens of gigabytes; this takes two or four bytes
    a token, and none of the process's own memory where the array is a mapped file.

    Attributes:
        ids: (total,) ids of all sequences.
        offsets: (n + 1,) where each sequence begins, and where the last ends.
    """

    ids: NDArray[Any]
    offsets: Lengths

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> TokenArray:
        """Lay sequences one after the other in memory."""
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
        ids = np.fromiter((i for s in sequences for i in s), np.int32, int(offsets[-1]))
        return cls(ids, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[Any]:
        """Ids of one sequence."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[index] for index in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenArray):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.ids, other.ids)

    @property
    def lengths(self) -> Lengths:
        """(n,) tokens of each sequence."""
        return np.diff(self.offsets)

    def lengths_of(self, indices: Lengths) -> Lengths:
        """(len(indices),) tokens of some sequences."""
        found: Lengths = self.offsets[indices + 1] - self.offsets[indices]
        return found
