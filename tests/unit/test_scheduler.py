"""The scheduler: every request answered once, in order, whatever the company."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest

from serving.batch import Sentence, Translations
from serving.errors import DragomanError, RequestError
from serving.options import MAX_SOURCE_TOKENS, DecodingOptions
from serving.scheduler import DEFAULT_ROWS, DEFAULT_TOKENS, Scheduler
from tests.unit.fake_engine import EOS, FakeEngine
from tests.unit.watched_engine import (
    GREEDY,
    LONG,
    USUAL,
    WatchedEngine,
    at_step,
    meanwhile,
    offline,
    random_request,
)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_requests_of_many_threads_equal_offline_search(seed: int, workers: int) -> None:
    random = np.random.default_rng(seed)
    requests = [random_request(random) for _ in range(25)]
    engine = WatchedEngine()
    with Scheduler(engine, rows=16, workers=workers) as scheduler, ThreadPoolExecutor(8) as clients:
        submitted = clients.map(lambda request: scheduler.submit(*request), requests)
        answers = [future.result(timeout=60) for future in submitted]
    assert max(engine.rows) <= 16
    for (sentences, options), answer in zip(requests, answers, strict=True):
        assert answer == offline(sentences, options)


def test_a_late_request_is_encoded_before_the_next_step() -> None:
    engine, late = WatchedEngine(), []
    with Scheduler(engine) as scheduler:
        at_step(engine, 3, lambda: late.append(scheduler.submit([[9, EOS]], USUAL)))
        assert scheduler.submit([LONG], USUAL).result(timeout=60)
        assert late[0].result(timeout=60) == offline([[9, EOS]], USUAL)
    encoded = engine.events.index([(9, EOS)])
    assert sum(isinstance(event, int) for event in engine.events[:encoded]) == 3
    assert engine.events[encoded + 1] != 2


def test_one_group_of_similar_length_is_encoded_between_two_steps() -> None:
    engine = WatchedEngine()
    sentences = [[9] * n + [EOS] for n in (1, 40, 300, 2, 41, 310, 42, 3)]

    def submit_each() -> list[Future[Translations]]:
        return [scheduler.submit([sentence], GREEDY) for sentence in sentences]

    with Scheduler(engine) as scheduler:
        for future in meanwhile(scheduler, engine, submit_each):
            future.result(timeout=60)
    sizes = [sorted(len(text) for text in group) for group in engine.groups]
    assert sizes == [[4], [2, 3, 4], [41, 42, 43], [301], [311]]
    assert [isinstance(event, list) for event in engine.events[:10]] == [True, False] * 5


def test_one_sentence_joins_next_though_a_huge_request_waits() -> None:
    engine, small = WatchedEngine(), []
    sentences = [[9] * 60 + [EOS]] * 200
    with Scheduler(engine, rows=32) as scheduler:
        at_step(engine, 1, lambda: small.append(scheduler.submit([[10] * 60 + [EOS]], GREEDY)))
        huge = scheduler.submit(sentences, GREEDY)
        huge.result(timeout=60)
        assert small[0].done()
    assert (*[10] * 60, EOS) in engine.groups[1]


def test_a_wide_sentence_is_not_starved_by_narrow_ones() -> None:
    """Each narrow request is followed by another, so that some always wait."""
    engine, options = WatchedEngine(), DecodingOptions(beam_size=8)
    narrow: list[Future[Translations]] = []
    wide: list[Future[Translations]] = []

    def add_narrow(_: object = None) -> None:
        if not (wide and wide[0].done()):
            narrow.append(scheduler.submit([[10 + len(narrow) % 50, EOS]], GREEDY))
            narrow[-1].add_done_callback(add_narrow)

    def submit_all() -> None:
        for _ in range(20):
            add_narrow()
        wide.append(scheduler.submit([[9, EOS]], options))

    with Scheduler(engine, rows=8) as scheduler:
        meanwhile(scheduler, engine, submit_all)
        assert wide[0].result(timeout=60) == offline([[9, EOS]], options)
    assert max(engine.rows) == 8
    wide_group = engine.groups.index([(9, EOS)])
    assert sum(len(group) for group in engine.groups[1:wide_group]) == 20


def test_tokens_bound_what_is_in_flight() -> None:
    engine = WatchedEngine()
    sentences = [[n] * 20 + [EOS] for n in range(10, 30)]
    each = Sentence(sentences[0], GREEDY, None).tokens
    most = []
    engine.on_step = lambda: most.append(len(engine.texts))
    with Scheduler(engine, tokens=3 * each + 1) as scheduler:
        assert scheduler.submit(sentences, GREEDY).result(timeout=60) == offline(sentences, GREEDY)
    assert max(most) == 3


@pytest.mark.parametrize("capacity", [(2, DEFAULT_TOKENS), (DEFAULT_ROWS, 60)])
def test_a_sentence_beyond_the_capacity_runs_alone(capacity: tuple[int, int]) -> None:
    engine, options, sentences = WatchedEngine(), DecodingOptions(beam_size=4), [[9, EOS]] * 2

    def submit_both() -> tuple[Future[Translations], Future[Translations]]:
        return scheduler.submit(sentences, options), scheduler.submit([[10, EOS]], GREEDY)

    with Scheduler(engine, *capacity) as scheduler:
        wide, narrow = meanwhile(scheduler, engine, submit_both)
        assert wide.result(timeout=60) == offline(sentences, options)
        assert narrow.result(timeout=60) == offline([[10, EOS]], GREEDY)
    assert [len(group) for group in engine.groups] == [1, 1, 1, 1]


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


def test_counters() -> None:
    engine, during = WatchedEngine(), []
    with Scheduler(engine, rows=4) as scheduler:
        at_step(engine, 2, lambda: during.append(scheduler.counters()))
        scheduler.submit([[9, EOS], [10, EOS], LONG], USUAL).result(timeout=60)
    assert (during[0].waiting, during[0].in_flight, during[0].steps) == (1, 2, 1)
    after = scheduler.counters()
    assert (after.waiting, after.in_flight) == (0, 0)
    assert (after.encodings, after.steps) == (len(engine.groups), len(engine.rows))
    assert sum(engine.rows) <= after.rows <= 4 * after.steps
    assert after.encode_seconds > 0
    assert after.step_seconds > 0


def test_an_idle_scheduler_keeps_nothing_of_a_request() -> None:
    with Scheduler(FakeEngine()) as scheduler:
        first = scheduler.submit([[9, EOS]], USUAL)
        first.result(timeout=60)
        kept = weakref.ref(first)
        del first
        # The worker has let go of the first request when it answers the second.
        scheduler.submit([[10, EOS]], USUAL).result(timeout=60)
        gc.collect()
        assert kept() is None
