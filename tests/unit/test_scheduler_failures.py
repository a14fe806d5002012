"""The scheduler when requests fail or are cancelled: nothing else changes for the others."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from concurrent.futures import Future

import pytest

from serving.batch import Translations
from serving.errors import DragomanError, EngineError, OverloadError
from serving.grid import GridDecoder
from serving.options import DecodingOptions
from serving.scheduler import MANY_FAILURES, Scheduler
from tests.unit.fake_engine import EOS, FakeMemory
from tests.unit.watched_engine import (
    GREEDY,
    LONG,
    POISON,
    USUAL,
    Cache,
    PoisonedEngine,
    WatchedEngine,
    meanwhile,
    offline,
)


@pytest.mark.parametrize("where", ["encode", "step"])
def test_a_poisoned_request_fails_and_the_next_works(where: str) -> None:
    good, bad = [[9, EOS]], [[POISON, EOS]]
    with Scheduler(PoisonedEngine(where)) as scheduler:
        for _ in range(3):
            with pytest.raises(ValueError, match="poisoned"):
                scheduler.submit(bad, USUAL).result(timeout=60)
            assert scheduler.submit(good, USUAL).result(timeout=60) == offline(good, USUAL)


def test_a_sentence_that_cannot_be_encoded_fails_its_own_request_only() -> None:
    """Its group is tried again one by one, and what is in flight goes on between the tries."""
    engine = PoisonedEngine("encode")
    requests = [[[9, EOS]], [[11, EOS], [POISON, EOS], [12, EOS]], [[10, EOS]]]

    def submit_all() -> list[Future[Translations]]:
        return [scheduler.submit(request, USUAL) for request in requests]

    with Scheduler(engine) as scheduler:
        before, poisoned, after = meanwhile(scheduler, engine, submit_all)
        assert before.result(timeout=60) == offline(requests[0], USUAL)
        assert after.result(timeout=60) == offline(requests[2], USUAL)
        with pytest.raises(ValueError, match="poisoned"):
            poisoned.result(timeout=60)
    assert [len(group) for group in engine.groups] == [1, 5, 1, 1, 1, 1]
    assert all(isinstance(event, int) for event in engine.events[1:12:2])
    assert [(12, EOS)] not in engine.groups


def test_what_is_in_flight_of_a_failed_request_leaves_at_the_next_step() -> None:
    engine = PoisonedEngine("encode")
    seen: list[list[tuple[int, ...]]] = []
    engine.on_step = lambda: seen.append(list(engine.texts))
    long = [*LONG * 5, EOS]
    with Scheduler(engine) as scheduler:
        poisoned = scheduler.submit([[POISON, EOS], long], GREEDY)
        assert isinstance(poisoned.exception(timeout=60), ValueError)
    assert seen == [[tuple(long)]]
    assert len(offline([long], GREEDY)[0][0].ids) > 1


def test_a_failing_step_fails_none_but_its_cause() -> None:
    """All that was in flight is tried again, each sentence by itself; the others wait."""
    engine = PoisonedEngine("step")
    requests = [[[9, EOS] * 3], [[POISON, EOS], [11, EOS]], [[10, EOS] * 2]]

    def submit_all() -> list[Future[Translations]]:
        return [scheduler.submit(request, GREEDY) for request in requests]

    with Scheduler(engine) as scheduler:
        nine, poisoned, ten = meanwhile(scheduler, engine, submit_all)
        assert nine.result(timeout=60) == offline(requests[0], GREEDY)
        assert ten.result(timeout=60) == offline(requests[2], GREEDY)
        assert isinstance(poisoned.exception(timeout=60), ValueError)
        assert scheduler.counters().in_flight == 0
        assert scheduler.failure() is None


def test_an_engine_that_always_fails_is_found_out() -> None:
    engine = PoisonedEngine("encode")
    with Scheduler(engine) as scheduler:
        for number in range(MANY_FAILURES):
            assert scheduler.failure() is None
            scheduler.submit([[POISON, 8 + number, EOS]], GREEDY).exception(timeout=60)
        assert isinstance(scheduler.failure(), EngineError)
        assert scheduler.submit([[9, EOS]], GREEDY).result(timeout=60)
        assert scheduler.failure() is None


def test_a_full_queue_refuses_what_would_wait_behind_it() -> None:
    """Many tokens fill rounds of the queue, of which a short request sees the first alone."""
    engine, options = WatchedEngine(), DecodingOptions(beam_size=8)
    huge, other = [[n] * 60 + [EOS] for n in range(9, 15)], [[n] * 60 + [EOS] for n in (15, 16)]

    def submit_many() -> list[Future[Translations]]:
        return [scheduler.submit(texts, options) for texts in (huge, other, huge, [[9, EOS]])]

    with Scheduler(engine, rows=1, queue=4) as scheduler:
        futures = meanwhile(scheduler, engine, submit_many)
        errors = [future.exception(timeout=60) for future in futures]
        assert scheduler.submit(huge, options).exception(timeout=60) is None
    assert [isinstance(error, OverloadError) for error in errors] == [False, False, True, False]
    assert "overloaded: 8 sentences wait before it" in str(errors[2])


def test_a_queue_full_of_short_requests_refuses_them() -> None:
    engine = WatchedEngine()

    def submit_many() -> list[Future[Translations]]:
        return [scheduler.submit([[n, EOS]], GREEDY) for n in range(9, 19)]

    with Scheduler(engine, rows=1, queue=4) as scheduler:
        futures = meanwhile(scheduler, engine, submit_many)
        errors = [future.exception(timeout=60) for future in futures]
    assert [isinstance(error, OverloadError) for error in errors] == [False] * 4 + [True] * 6


def test_a_turn_that_lasts_is_seen_and_all_requests_can_be_ended() -> None:
    engine, go_on = WatchedEngine(), threading.Event()
    engine.on_step = lambda: go_on.wait(timeout=60)
    with Scheduler(engine, rows=1) as scheduler:
        assert scheduler.busy_seconds() == 0
        futures = [scheduler.submit([[n, EOS]], GREEDY) for n in (9, 10)]
        time.sleep(0.2)
        assert 0.1 < scheduler.busy_seconds() < 60
        scheduler.fail(EngineError("stuck"))
        errors = [future.exception(timeout=1) for future in futures]
        refused = scheduler.submit([[11, EOS]], GREEDY).exception(timeout=1)
        assert [str(error) for error in [*errors, refused]] == ["stuck"] * 3
        go_on.set()


def test_the_first_join_of_a_request_is_told_once() -> None:
    engine, joined = WatchedEngine(), []
    with Scheduler(engine, rows=2) as scheduler:
        sentences = [[n, EOS] for n in range(9, 14)]
        future = scheduler.submit(sentences, USUAL, lambda: joined.append(len(engine.groups)))
        future.result(timeout=60)
    assert joined == [1]


def test_waiting_requests_can_be_cancelled() -> None:
    engine = WatchedEngine()
    waiting: list[int] = []

    def submit_and_cancel() -> list[Future[Translations]]:
        futures = [scheduler.submit([[n, EOS]] * 2, GREEDY) for n in (9, 10, 11)]
        waiting.append(scheduler.counters().waiting)
        assert futures[1].cancel()
        waiting.append(scheduler.counters().waiting)
        return futures

    with Scheduler(engine, rows=1) as scheduler:
        futures = meanwhile(scheduler, engine, submit_and_cancel)
        assert concurrent.futures.wait(futures, timeout=60).not_done == set()
    assert waiting == [6, 4]
    assert [future.cancelled() for future in futures] == [False, True, False]
    assert [group[0][0] for group in engine.groups[1:]] == [9, 11, 9, 11]


def test_what_is_in_flight_of_a_cancelled_request_leaves_at_the_next_step() -> None:
    engine, options = WatchedEngine(), DecodingOptions(beam_size=8)
    seen: list[list[tuple[int, ...]]] = []
    futures: list[Future[Translations]] = []

    def on_step() -> None:
        seen.append(list(engine.texts))
        if len(seen) == 1:
            futures.append(scheduler.submit([LONG[::-1], LONG[1:]], options))
        if len(seen) == 3:
            futures[0].cancel()

    engine.on_step = on_step
    with Scheduler(engine) as scheduler:
        assert scheduler.submit([LONG], USUAL).result(timeout=60) == offline([LONG], USUAL)
        assert concurrent.futures.wait(futures, timeout=60).done
    assert [len(texts) for texts in seen[:4]] == [1, 3, 3, 1]


def test_no_request_is_left_without_an_answer_when_the_worker_ends() -> None:
    class BrokenEngine(PoisonedEngine):
        """Has no second decoder, which is needed after a failed step."""

        decoders = 1

        def decoder(self) -> GridDecoder[FakeMemory, Cache]:
            if not self.decoders:
                raise RuntimeError("broken")
            self.decoders -= 1
            return super().decoder()

    engine = BrokenEngine("step")

    def submit_each() -> list[Future[Translations]]:
        return [scheduler.submit([[n, EOS]], GREEDY) for n in (POISON, 9, 10)]

    with Scheduler(engine, rows=1) as scheduler:
        futures = meanwhile(scheduler, engine, submit_each)
        errors = [future.exception(timeout=60) for future in futures]
        with pytest.raises(DragomanError, match="the engine has ended: RuntimeError: broken"):
            scheduler.submit([[9, EOS]], GREEDY).result(timeout=60)
    ended = "the engine has ended: RuntimeError: broken"
    assert [str(error) for error in errors] == [ended] * 3
