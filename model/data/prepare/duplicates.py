"""Which pairs have been seen before, in eight bytes a pair."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from model.data.prepare.cleaning import Pair

Digests = NDArray[np.uint64]


def digests_of(pairs: Iterable[Pair]) -> Digests:
    """(n,) 64-bit digests; of 36 million different pairs, two agree in one corpus of 30,000."""
    joined = b"".join(
        hashlib.blake2b(f"{source}\t{target}".encode(), digest_size=8).digest()
        for source, target in pairs
    )
    return np.frombuffer(joined, dtype="<u8").astype(np.uint64)


class SeenPairs:
    """The pairs so far, as sorted digests: a Python set would take ten times the memory."""

    def __init__(self, digests: Digests | None = None) -> None:
        self._sorted = np.empty(0, np.uint64) if digests is None else np.sort(digests)

    def add(self, digests: Digests) -> NDArray[np.bool_]:
        """Whether each is new, the first of equal ones alone; from now on all are seen."""
        values, first = np.unique(digests, return_index=True)
        places = np.searchsorted(self._sorted, values)
        unseen = np.ones(len(values), np.bool_)
        inside = places < len(self._sorted)
        unseen[inside] = self._sorted[places[inside]] != values[inside]
        self._sorted = np.insert(self._sorted, places[unseen], values[unseen])
        new = np.zeros(len(digests), np.bool_)
        new[first[unseen]] = True
        return new
