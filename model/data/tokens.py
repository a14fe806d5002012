"""Many token sequences in one flat array: in memory, or mapped from a file."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from serving.errors import DragomanError

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
        ids = np.fromiter(itertools.chain.from_iterable(sequences), np.int32, int(offsets[-1]))
        return cls(ids, offsets)

    @classmethod
    def map(cls, ids: Path, offsets: Path, dtype: str) -> TokenArray:
        """Map the two files that a `TokenWriter` wrote; nothing is read before it is needed.

        Raises:
            DragomanError: a file cannot be mapped, or the two do not belong together.
        """
        array = cls(_mapped(ids, dtype), _mapped(offsets, "<i8"))
        if not len(array.offsets) or array.offsets[-1] != len(array.ids):
            raise DragomanError(f"{ids} and {offsets} do not belong together")
        return array

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


class TokenWriter:
    """Writes the two files of a token array, a block of sequences at a time.

    Attributes:
        count: sequences written so far, n.
        total: ids written so far.
    """

    def __init__(self, ids: IO[bytes], offsets: IO[bytes], dtype: str) -> None:
        self._ids, self._offsets, self._dtype = ids, offsets, dtype
        self.count = self.total = 0
        self._offsets.write(bytes(8))  # the first sequence begins at 0

    def append(self, ids: NDArray[Any], lengths: NDArray[Any]) -> None:
        """Add sequences of these lengths (n,), whose ids (total,) lie one after the other."""
        ends = self.total + np.cumsum(lengths, dtype="<i8")
        self._ids.write(ids.astype(self._dtype).tobytes())
        self._offsets.write(ends.tobytes())
        self.count += len(lengths)
        self.total += len(ids)


def id_type(vocab_size: int) -> str:
    """Name of the smallest NumPy type that holds the ids of V pieces."""
    return "<u2" if vocab_size <= 1 << 16 else "<i4"


def _mapped(path: Path, dtype: str) -> NDArray[Any]:
    try:
        empty = path.stat().st_size == 0  # which no system maps
        mapped = np.empty(0, dtype) if empty else np.memmap(path, dtype, "r")
    except (OSError, ValueError) as error:
        raise DragomanError(f"cannot map {path}: {error}") from error
    return np.asarray(mapped)  # slices of a memmap are slow Python objects
