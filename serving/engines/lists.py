"""The shortlists of the sentences in flight, as the step graph takes them.

The output projection computes the union of all lists once. Each row then picks its own sentence's
columns out of it, in the order of their ids, so that neither its normaliser nor its choice depends
on the company: not even on the order in which numbers are added.
"""

from __future__ import annotations

import numpy as np

from serving.engine import Candidates, Ids
from serving.options import MAX_BEAM_SIZE
from serving.shortlist import Shortlist

MEMBERS = 8
"""Columns of a group; selection ranks groups first, then what is in the best of them."""

_GRANULE = 64
"""Lists and their union are padded to a multiple of it: numbers are added in blocks of that many,
and a padded list must be the same sum as a longer padded one."""

_LEAST = 2 * MAX_BEAM_SIZE * MEMBERS
"""Shortest padded list: as many groups as candidates are asked for."""

_NEVER = -1e8
"""Log-probabilities below it are of what only fills up a list."""


class Lists:
    """Every sentence's list, in the order of the sentences in flight."""

    def __init__(self, shortlist: Shortlist) -> None:
        self._shortlist = shortlist
        self._lists: list[Ids] = []
        self._feed: dict[str, Ids] = {}

    def join(self, source: Ids, lengths: Ids) -> None:
        """Sentences (B, S) of lengths (B,) follow those in flight."""
        for ids, length in zip(source, lengths, strict=True):
            self._lists.append(self._shortlist.candidates(ids[:length]))
        self._feed = {}

    def select(self, sentences: Ids) -> None:
        """Keep the sentences at these places."""
        self._lists = [self._lists[i] for i in sentences]
        self._feed = {}

    def feed(self, slot: Ids) -> dict[str, Ids]:
        """Inputs of the step.

        Args:
            slot: (B,) of each sentence; they are 0 to B - 1 in some order.

        Returns:
            `shortlist` (W,), the ids of all lists, and `own` (B, G, MEMBERS), where in it each
            slot's own ids stand, or -1.
        """
        if not self._feed:
            listed = np.zeros(self._shortlist.vocab_size, dtype=bool)
            for ids in self._lists:
                listed[ids] = True
            union = np.flatnonzero(listed)
            place = np.cumsum(listed) - 1
            own = np.full((len(slot), self._padded_length()), -1, dtype=np.int64)
            for row, ids in zip(slot, self._lists, strict=True):
                own[row, : len(ids)] = place[ids]
            padding = np.zeros(-len(union) % _GRANULE, dtype=np.int64)
            self._feed = {
                "shortlist": np.concatenate((union, padding)),
                "own": own.reshape(len(slot), -1, MEMBERS),
            }
        return self._feed

    def _padded_length(self) -> int:
        longest = max(_LEAST, *map(len, self._lists))
        return -(-longest // _GRANULE) * _GRANULE


def without_padding(found: Candidates, pad_id: int) -> Candidates:
    """What only fills up a list is impossible; search never takes it."""
    padding = found.log_prob < _NEVER
    if not padding.any():
        return found
    log_prob = np.where(padding, np.float32(-np.inf), found.log_prob)
    return Candidates(log_prob, np.where(padding, pad_id, found.token))
