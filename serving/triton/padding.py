"""Ragged ids as one padded array, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from serving.errors import RequestError
from serving.triton.interface import Array, Int32s


def pad_rows(rows: Sequence[Sequence[int]]) -> tuple[Int32s, Int32s]:
    """Return ids (M, L) filled up with 0, and lengths (M,).

    L is 1 at least: Triton takes no array without elements.
    """
    lengths = np.array([len(row) for row in rows], dtype=np.int32)
    padded = np.zeros((len(rows), max(1, int(lengths.max(initial=0)))), dtype=np.int32)
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = row
    return padded, lengths


def unpad_rows(padded: Array, lengths: Array) -> list[list[int]]:
    """Return the rows of ids (M, L), each cut to its length.

    Raises:
        RequestError: the shapes do not belong together, or a length is not from 0 to L.
    """
    if padded.ndim != 2 or lengths.shape != padded.shape[:1]:
        raise RequestError(
            f"ids must have shape (M, L) and lengths (M,), not {padded.shape} and {lengths.shape}"
        )
    if lengths.size and not (lengths.min() >= 0 and lengths.max() <= padded.shape[1]):
        raise RequestError(f"every length must be from 0 to {padded.shape[1]}")
    return [row[:length].tolist() for row, length in zip(padded, lengths, strict=True)]


def check_ids(rows: Sequence[Sequence[int]], vocab_size: int) -> None:
    """Raise RequestError unless every id is from 0 to `vocab_size` - 1."""
    if any(not 0 <= token < vocab_size for row in rows for token in row):
        raise RequestError(f"every id must be from 0 to {vocab_size - 1}")
