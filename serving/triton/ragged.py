"""Ragged ids as one flat array with lengths, and back: a long sentence pads no other."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from serving.errors import RequestError
from serving.triton.interface import Array, Int32s


def flatten(rows: Sequence[Sequence[int]]) -> tuple[Int32s, Int32s]:
    """Return ids (total,), row after row, and lengths (M,).

    Where all rows are empty, one 0 follows that belongs to none: Triton takes no empty array.
    """
    lengths = np.fromiter(map(len, rows), np.int32, len(rows))
    total = int(lengths.sum())
    ids = np.zeros(max(1, total), dtype=np.int32)
    ids[:total] = np.fromiter(itertools.chain.from_iterable(rows), np.int32, total)
    return ids, lengths


def split(ids: Array, lengths: Array) -> list[list[int]]:
    """Return the rows of ids (total,) that have these lengths (M,).

    Raises:
        RequestError: the two do not belong together.
    """
    if ids.ndim != 1 or lengths.ndim != 1:
        raise RequestError(
            "ids must be flat, all sentences one after the other, and lengths one number each; "
            f"not arrays of shape {ids.shape} and {lengths.shape}"
        )
    if lengths.min(initial=0) < 0:
        raise RequestError("a length is negative")
    ends = np.cumsum(lengths, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    if total != len(ids) and (total, len(ids)) != (0, 1):
        raise RequestError(f"the lengths add up to {total:,}, but there are {len(ids):,} ids")
    values, bounds = ids.tolist(), [0, *ends.tolist()]
    return [values[first:end] for first, end in itertools.pairwise(bounds)]


def check_ids(rows: Sequence[Sequence[int]], vocab_size: int) -> None:
    """Raise RequestError unless every id is from 0 to `vocab_size` - 1."""
    if any(not 0 <= token < vocab_size for row in rows for token in row):
        raise RequestError(f"every id must be from 0 to {vocab_size - 1}")
