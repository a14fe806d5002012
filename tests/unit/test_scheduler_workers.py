"""Workers side by side: each takes its share, and nobody waits beside an idle one."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import numpy as np
import pytest

from serving.batch import Translations
from serving.options import DecodingOptions
from serving.scheduler import Scheduler
from tests.unit.fake_engine import EOS, FakeEngine
from tests.unit.watched_engine import GREEDY, LONG, WatchedEngine, offline, random_request


class StalledEngine(WatchedEngine):
    """Waits at each step until a second worker steps too, or until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()
        self.together = threading.Event()
        self.on_step = self._meet

    def _meet(self) -> None:
        self.threads.add(threading.get_ident())
        if len(self.threads) > 1:
            self.together.set()
        self.together.wait(timeout=60)


def test_an_idle_worker_takes_what_comes_while_another_works() -> None:
    engine = StalledEngine()
    with Scheduler(engine, workers=2) as scheduler:
        first = scheduler.submit([LONG], GREEDY)
        second = scheduler.submit([[9, EOS]], GREEDY)
        assert first.result(timeout=60) == offline([LONG], GREEDY)
        assert second.result(timeout=60) == offline([[9, EOS]], GREEDY)
    assert len(engine.threads) == 2


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_request_is_shared_by_idle_workers(beam_size: int) -> None:
    engine, options = StalledEngine(), DecodingOptions(beam_size)
    sentences = [[n, EOS] for n in range(10, 18)]
    with Scheduler(engine, workers=2) as scheduler:
        assert scheduler.submit(sentences, options).result(timeout=60) == offline(
            sentences, options
        )
    assert [len(group) for group in engine.groups] == [4, 4]


@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_every_request_ends_once_though_others_are_cancelled(seed: int, workers: int) -> None:
    random = np.random.default_rng(seed)
    futures: list[Future[Translations]] = []
    ended: list[int] = []
    requests = []
    with Scheduler(FakeEngine(), rows=12, workers=workers) as scheduler:
        for number in range(50):
            requests.append(random_request(random))
            futures.append(scheduler.submit(*requests[-1]))
            futures[-1].add_done_callback(lambda _, n=number: ended.append(n))  # type: ignore[misc]
            if random.random() < 0.3:
                futures[int(random.integers(0, len(futures)))].cancel()
    assert sorted(ended) == list(range(50))
    for request, future in zip(requests, futures, strict=True):
        if not future.cancelled():
            assert future.result() == offline(*request)
    counters = scheduler.counters()
    assert (counters.waiting, counters.in_flight) == (0, 0)
