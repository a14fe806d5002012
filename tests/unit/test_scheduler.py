"""The scheduler: every request answered once, in order, whatever the company."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from serving.engine import Candidates, Ids
from serving.errors import DragomanError, RequestError
from serving.options import MAX_SOURCE_TOKENS, DecodingOptions
from serving.scheduler import Scheduler
from serving.search import search
from tests.unit.fake_engine import EOS, FakeEngine, FakeMemory

POISON = 7


class PoisonedEngine(FakeEngine):
    """Fails to encode, or to step, a group that holds the poison."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where = where

    def encode(self, source: Ids, lengths: Ids) -> FakeMemory:
        if self._where == "encode" and (source == POISON).any():
            raise ValueError("poisoned")
        return super().encode(source, lengths)

    def step(
        self,
        memory: FakeMemory,
        cache: list[tuple[int, ...]] | None,
        token: Ids,
        position: Ids,
        parent: Ids,
    ) -> tuple[Candidates, list[tuple[int, ...]]]:
        if self._where == "step" and any(POISON in text for text in memory.texts):
            raise ValueError("poisoned")
        return super().step(memory, cache, token, position, parent)


class GatedEngine(FakeEngine):
    """Waits at each encoding until the gate opens."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()

    def encode(self, source: Ids, lengths: Ids) -> FakeMemory:
        assert self.gate.wait(timeout=60)
        return super().encode(source, lengths)


def random_request(random: np.random.Generator) -> tuple[list[list[int]], DecodingOptions]:
    sentences = [
        [*random.integers(8, 60, random.integers(0, 5)).tolist(), EOS]
        for _ in range(random.integers(1, 5))
    ]
    if random.random() < 0.2:
        sentences.insert(0, [])
    beam_size = int(random.integers(1, 5))
    return sentences, DecodingOptions(beam_size, n_best=int(random.integers(1, beam_size + 1)))


@pytest.mark.parametrize("seed", range(3))
def test_concurrent_requests_equal_offline_search(seed: int) -> None:
    random = np.random.default_rng(seed)
    requests = [random_request(random) for _ in range(25)]
    engine = FakeEngine()
    with Scheduler(engine, rows=16) as scheduler, ThreadPoolExecutor(8) as clients:
        submitted = clients.map(lambda request: scheduler.submit(*request), requests)
        answers = [future.result(timeout=60) for future in submitted]
    assert engine.largest_step <= 16
    for (sentences, options), answer in zip(requests, answers, strict=True):
        assert answer == search(FakeEngine(), sentences, options)


def test_late_requests_join_the_running_batch() -> None:
    engine = GatedEngine()
    options = DecodingOptions(beam_size=2)
    with Scheduler(engine, rows=4) as scheduler:
        futures = [scheduler.submit([[n, EOS]], options) for n in range(10, 20)]
        engine.gate.set()
        for future in futures:
            future.result(timeout=60)
    alone = FakeEngine()
    for n in range(10, 20):
        search(alone, [[n, EOS]], options)
    assert engine.steps < alone.steps


@pytest.mark.parametrize("where", ["encode", "step"])
def test_a_poisoned_request_fails_and_the_next_works(where: str) -> None:
    good, bad = [[9, EOS]], [[POISON, EOS]]
    with Scheduler(PoisonedEngine(where)) as scheduler:
        for _ in range(3):
            with pytest.raises(ValueError, match="poisoned"):
                scheduler.submit(bad, DecodingOptions()).result(timeout=60)
            answer = scheduler.submit(good, DecodingOptions()).result(timeout=60)
            assert answer == search(FakeEngine(), good, DecodingOptions())


def test_what_is_in_flight_survives_a_group_that_cannot_be_encoded() -> None:
    class SlowEngine(PoisonedEngine):
        def step(self, *inputs: Any) -> Any:
            time.sleep(0.01)
            return super().step(*inputs)

    sentence = [[30, 31, 32, EOS]]
    with Scheduler(SlowEngine("encode")) as scheduler:
        good = scheduler.submit(sentence, DecodingOptions())
        time.sleep(0.02)
        bad = scheduler.submit([[POISON, EOS]], DecodingOptions())
        with pytest.raises(ValueError, match="poisoned"):
            bad.result(timeout=60)
        assert good.result(timeout=60) == search(FakeEngine(), sentence, DecodingOptions())


def test_waiting_requests_can_be_cancelled() -> None:
    engine = GatedEngine()
    with Scheduler(engine, rows=1) as scheduler:
        first = scheduler.submit([[9, EOS]], DecodingOptions(beam_size=1))
        second = scheduler.submit([[10, EOS]], DecodingOptions(beam_size=1))
        third = scheduler.submit([[11, EOS]], DecodingOptions(beam_size=1))
        assert second.cancel()
        engine.gate.set()
        assert first.result(timeout=60)
        assert third.result(timeout=60)


def test_closing_finishes_what_was_accepted() -> None:
    scheduler = Scheduler(FakeEngine(), rows=4)
    futures = [scheduler.submit([[n, EOS]], DecodingOptions()) for n in range(10, 30)]
    scheduler.close()
    assert all(future.done() and future.result() for future in futures)
    with pytest.raises(DragomanError, match="closed"):
        scheduler.submit([[9, EOS]], DecodingOptions()).result(timeout=60)


def test_a_sentence_of_too_many_tokens_is_refused() -> None:
    with Scheduler(FakeEngine()) as scheduler:
        future = scheduler.submit([[9] * (MAX_SOURCE_TOKENS + 1)], DecodingOptions())
        with pytest.raises(RequestError, match="at most 1000"):
            future.result(timeout=60)


def test_a_sentence_wider_than_the_capacity_runs_alone() -> None:
    with Scheduler(FakeEngine(), rows=2) as scheduler:
        sentences = [[9, EOS], [10, EOS]]
        answer = scheduler.submit(sentences, DecodingOptions(beam_size=4)).result(timeout=60)
    assert answer == search(FakeEngine(), sentences, DecodingOptions(beam_size=4))
