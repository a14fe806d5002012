"""The shortlists of the sentences in flight, as the step graph takes them.

The output projection computes the union of all lists once. Each row then picks its own sentence's
columns out of it, in the order of their ids, so that neither its normaliser nor its choice depends
on the company: not even on the order in which numbers are added.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from serving.engine import IMPOSSIBLE, Candidates, Demand, Ids
from serving.options import MAX_BEAM_SIZE
from serving.shortlist import Shortlist

MEMBERS = 8
"""Columns of a group; selection ranks groups first, then what is in the best of them."""

_GRANULE = 64
"""Lists and their union are padded to a multiple of it: numbers are added in blocks of that many,
and a padded list must be the same sum as a longer padded one."""

_LEAST = 2 * MAX_BEAM_SIZE * MEMBERS
"""Shortest padded list: as many groups as candidates are asked for."""


class Lists:
    """Every sentence's list, in the order of the sentences in flight."""

    def __init__(self, shortlist: Shortlist) -> None:
        self._shortlist = shortlist
        self._lists: list[Ids] = []
        self._feed: dict[str, Ids] = {}
        self._keys: Ids = np.zeros(0, dtype=np.int64)

    def join(self, source: Ids, demands: Sequence[Demand]) -> None:
        """Sentences (B, S) follow those in flight."""
        for ids, demand in zip(source, demands, strict=True):
            listed = self._shortlist.candidates(ids[: demand.source], demand.forced)
            self._lists.append(listed)
        self._changed()

    def select(self, sentences: Ids) -> None:
        """Keep the sentences at these places."""
        self._lists = [self._lists[i] for i in sentences]
        self._changed()

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

    def places(self, sentence: Ids, ids: Ids) -> Ids:
        """Where ids (N, M) stand in the lists of these sentences (N,).

        One that is not in it stands where something fills it up, and is as impossible.
        """
        if ids.size == 0:
            return ids
        if self._keys.size == 0:  # sentence and id as one number, ascending
            numbered = enumerate(self._lists)
            size = self._shortlist.vocab_size
            self._keys = np.concatenate([number * size + listed for number, listed in numbered])
        lengths = np.array([len(listed) for listed in self._lists])
        start = np.cumsum(lengths) - lengths
        wanted = sentence[:, None] * self._shortlist.vocab_size + ids
        place = np.searchsorted(self._keys, wanted)
        missing = self._keys[np.minimum(place, len(self._keys) - 1)] != wanted
        return np.where(missing, lengths[sentence][:, None], place - start[sentence][:, None])

    def _changed(self) -> None:
        self._feed, self._keys = {}, np.zeros(0, dtype=np.int64)

    def _padded_length(self) -> int:
        longest = max(_LEAST, *(len(listed) + 1 for listed in self._lists))
        return -(-longest // _GRANULE) * _GRANULE


def without_padding(found: Candidates, pad_id: int) -> Candidates:
    """What only fills up a list is impossible; search never takes it."""
    padding = found.log_prob < IMPOSSIBLE
    if not padding.any():
        return found
    log_prob = np.where(padding, np.float32(-np.inf), found.log_prob)
    return Candidates(log_prob, np.where(padding, pad_id, found.token), found.edited)
