"""Many requests at a time: each gets its own answer, the one it would get alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.e2e.launched import LaunchedServer

GOOD: list[dict[str, Any]] = [
    {"text": "Good morning."},
    {"text": ["I am hungry.", "", "What is your name?"]},
    {"text": "Where is the station?", "beam_size": 1},
    {"text": ["Thank you.", "See you tomorrow."], "beam_size": 6, "n_best": 3},
    {"text": "She reads a book every evening before she goes to bed.", "length_penalty": 1.2},
    {"text": " "},
]
BAD: list[dict[str, Any]] = [
    {"text": "x" * 1_100_000},
    {"text": "a", "beam_size": 99},
    {"text": []},
    {"text": "a", "unknown": 1},
]


def test_neighbours_do_not_change_an_answer(server: LaunchedServer) -> None:
    alone = [server.generate(**keys)[1] for keys in GOOD]
    mixed = [*GOOD, *BAD] * 4
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda keys: server.generate(**keys), mixed))
    for index, (status, answer) in enumerate(answers):
        place = index % (len(GOOD) + len(BAD))
        if place < len(GOOD):
            assert status == 200, answer
            assert answer["translation"] == alone[place]["translation"]
            assert answer["score"] == pytest.approx(alone[place]["score"], abs=1e-4)
        else:
            assert status == 400
            assert answer["error"]
    assert server.is_ready()
