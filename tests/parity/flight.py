"""Sentences that join, step and leave at random, driven through any decoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from serving.engine import Decoder, Demand, Ids, Rows, pad
from tests.parity.models import random_edits, random_sentences

LONGEST_FLIGHT = 64
"""Tokens that a sentence of a flight may write."""


def has_room(decoder: Decoder, demands: Sequence[Demand]) -> bool:
    """Whether all of these fit beside those in flight."""
    return all(map(decoder.room(), demands))


class Flight:
    """Sentences that join and leave, and rows of random parents, driven through any engine."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._beams: list[int] = []
        self._rows: list[tuple[int, int]] = []
        """Sentence and position of each row of the last step."""

    def joining(
        self, fits: Callable[[Sequence[Demand]], bool] = lambda _: True
    ) -> tuple[Ids, list[Demand]] | None:
        """None where nobody joins or `fits` says that there is no room."""
        count = int(self._random.integers(0, 3)) or (not self._beams)
        if not count:
            return None
        beams = self._random.integers(1, 6, count).tolist()
        source, lengths = pad(random_sentences(self._random, count, 14), 0)
        pairs = zip(lengths.tolist(), beams, strict=True)
        demands = [Demand(*pair, LONGEST_FLIGHT) for pair in pairs]
        if not fits(demands):
            return None
        self._beams += beams
        return source, demands

    def leaving(self) -> Ids:
        """Those who stay, one at least."""
        stays = self._random.random(len(self._beams)) < 0.85
        stays[0] = True
        places: Ids = np.flatnonzero(stays)
        renamed = {old: new for new, old in enumerate(places.tolist())}
        self._beams = [self._beams[i] for i in places]
        self._rows = [(renamed.get(s, -1), p) for s, p in self._rows]
        return places

    def rows(self) -> Rows:
        found = []
        for sentence, beams in enumerate(self._beams):
            own = [n for n, (s, _) in enumerate(self._rows) if s == sentence]
            for _ in range(beams if own else 1):  # a new sentence has one live beam
                parent = int(self._random.choice(own)) if own else 0
                position = self._rows[parent][1] + 1 if own else 0
                found.append((sentence, int(self._random.integers(1, 90)), position, parent))
        self._rows = [(sentence, position) for sentence, _, position, _ in found]
        sentence, token, position, parent = np.array(found, dtype=np.int64).T.copy()
        edits = random_edits(self._random, len(found), 90) if self._random.random() < 0.8 else None
        return Rows(sentence, token, position, parent, edits)


def assert_decoders_agree(decoders: Sequence[Decoder], seed: int) -> None:
    """A flight of 40 steps through two decoders; who joins must have room in both."""
    flight = Flight(seed)
    for _ in range(40):
        new = flight.joining(lambda demands: all(has_room(one, demands) for one in decoders))
        if new:
            for decoder in decoders:
                decoder.join(*new)
        rows = flight.rows()
        expected, found = (decoder.step(rows) for decoder in decoders)
        np.testing.assert_allclose(found.log_prob, expected.log_prob, atol=1e-4)
        np.testing.assert_array_equal(found.token[:, 0], expected.token[:, 0])
        width = rows.edits.width if rows.edits else 0
        edited = found.edited[:, :width]
        np.testing.assert_allclose(edited, expected.edited, rtol=1e-5, atol=1e-4)
        staying = flight.leaving()
        for decoder in decoders:
            decoder.select(staying)
