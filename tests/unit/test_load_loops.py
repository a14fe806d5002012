"""The load generator's arithmetic: arrivals, percentiles, lateness, the search for a rate."""

from __future__ import annotations

import asyncio
import math
import time

import numpy as np
import pytest

from serving.errors import DragomanError
from serving.load.arrivals import Arrivals, poisson
from serving.load.closed_loop import run_closed_loop
from serving.load.failures import Failure, Kind
from serving.load.open_loop import run_open_loop
from serving.load.search import highest_rate
from serving.load.window import Outcome, Window, percentile

LIMIT = 500.0


def evenly(rate: float, seconds: float) -> Arrivals:
    due = np.arange(0, seconds, 1 / rate)
    return Arrivals(rate, seconds, due, np.zeros(len(due), dtype=np.int64))


def queue(rate: float, seconds: float, service: float) -> Window:
    """What one server with a queue makes of Poisson arrivals; `service` seconds a request."""
    arrivals = poisson(rate, seconds, requests=1, seed=3)
    free, ends = 0.0, []
    for due in arrivals.due.tolist():
        free = max(free, due) + service
        ends.append(free)
    latencies = [1000 * (end - due) for end, due in zip(ends, arrivals.due.tolist(), strict=True)]
    return window(latencies, rate=rate, backlog=sum(end > seconds for end in ends))


def window(latencies: list[float], rate: float = 20.0, backlog: int = 0) -> Window:
    """A window of these latencies; infinite ones have failed."""
    failure = Failure(Kind.OTHER, "no answer")
    outcomes = [
        Outcome(0.0, latency) if math.isfinite(latency) else Outcome(0.0, 1.0, failure)
        for latency in latencies
    ]
    return Window(20.0, outcomes, rate, backlog, gave_up=False, lag=0.0, cores=0.0)


def test_percentiles_are_latencies_that_occurred() -> None:
    latencies = [float(n) for n in range(100, 0, -1)]
    assert percentile(latencies, 0.5) == 50
    assert percentile(latencies, 0.95) == 95
    assert percentile(latencies, 0.99) == 99
    assert percentile([7.0], 0.95) == 7
    assert percentile([1.0, 2.0, 3.0], 0.95) == 3
    assert math.isnan(percentile([], 0.5))


def test_arrivals_are_poisson_and_follow_their_seed() -> None:
    first, again, other = (poisson(50, 200, 30, seed) for seed in (1, 1, 2))
    assert np.array_equal(first.due, again.due)
    assert np.array_equal(first.request, again.request)
    assert not np.array_equal(first.due[:50], other.due[:50])
    assert len(first.due) == pytest.approx(50 * 200, rel=0.05)
    gaps = np.diff(first.due)
    assert gaps.min() >= 0
    assert first.due[-1] < 200
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05), "an exponential distribution's"
    assert set(first.request.tolist()) == set(range(30))


def test_a_stalled_server_shows_in_every_request_of_that_time() -> None:
    stall, rate = 0.4, 100.0
    ready = asyncio.Event()

    async def send(_request: int) -> None:
        await ready.wait()

    async def measure() -> Window:
        asyncio.get_running_loop().call_later(stall, ready.set)
        return await run_open_loop(send, evenly(rate, seconds=0.8))

    found = asyncio.run(measure())
    assert len(found.outcomes) == 80
    # A client that waits for each answer would have met the stall once.
    for wait in (0.1, 0.2, 0.3):
        slower = sum(latency >= 1000 * wait for latency in found.answered)
        assert slower >= rate * (stall - wait) - 1


def test_latency_counts_from_the_time_a_request_was_due_though_sent_late() -> None:
    calls = 0

    async def send(_request: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            time.sleep(0.3)

    found = asyncio.run(run_open_loop(send, evenly(100, seconds=0.5)))
    assert found.lag >= 250
    assert sum(latency >= 90 for latency in found.answered) >= 20


def test_a_lost_window_ends_early() -> None:
    sent = 0

    async def send(_request: int) -> None:
        nonlocal sent
        sent += 1
        await asyncio.sleep(0.2)

    began = time.perf_counter()
    found = asyncio.run(run_open_loop(send, evenly(100, seconds=30), limit=50))
    assert time.perf_counter() - began < 20
    assert found.gave_up
    assert 150 < sent == len(found.outcomes) < 3000
    assert not found.holds(50)


def test_errors_are_counted_and_infinitely_late() -> None:
    calls = 0

    async def send(_request: int) -> None:
        nonlocal calls
        calls += 1
        if calls % 10 == 0:
            raise RuntimeError("no answer")

    found = asyncio.run(run_open_loop(send, evenly(200, seconds=0.5)))
    assert found.failures == {"other": 10}
    assert found.examples == {"other": "no answer"}
    assert len(found.answered) == 90
    assert max(found.answered) < 1000, "failures are no latencies of answers"
    assert found.percentile(0.95) == math.inf
    assert not found.holds(1e6)


def test_a_window_holds_by_its_percentile_and_its_backlog() -> None:
    assert window([100.0] * 95 + [9000.0] * 5).holds(LIMIT)
    assert not window([100.0] * 94 + [9000.0] * 6).holds(LIMIT)
    assert window([100.0] * 100, rate=20, backlog=15).holds(LIMIT)
    assert not window([100.0] * 100, rate=20, backlog=25).holds(LIMIT)


@pytest.mark.parametrize("start", [1.0, 45.0, 700.0])
def test_the_search_finds_what_a_queue_can_take(start: float) -> None:
    def holds(rate: float) -> bool:
        return queue(rate, seconds=200, service=0.02).holds(LIMIT)

    found = highest_rate(holds, start, tolerance=0.02)
    assert 40 < found < 50, "such a queue is full at 50 requests a second"
    # M/D/1 waits rho / (2 (1 - rho)) services on average: at 40 a second far below the limit.
    assert queue(found, seconds=200, service=0.02).percentile(0.5) < LIMIT


def test_the_search_brackets_a_threshold() -> None:
    tried: list[float] = []

    def holds(rate: float) -> bool:
        tried.append(rate)
        return rate <= 33

    found = highest_rate(holds, start=20, factor=1.25, tolerance=0.05)
    assert found <= 33 < found * 1.05
    assert len(tried) <= 8


def test_a_server_that_holds_nothing_is_an_error() -> None:
    with pytest.raises(DragomanError, match="not even"):
        highest_rate(lambda _: False, start=8)


def test_a_closed_loop_keeps_its_clients_busy_and_no_more() -> None:
    in_flight, most = 0, 0
    drawn: list[int] = []

    async def send(request: int) -> None:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        drawn.append(request)
        await asyncio.sleep(0.02)
        in_flight -= 1

    found = asyncio.run(run_closed_loop(send, concurrency=4, seconds=0.6, requests=7, seed=1))
    assert most == 4
    assert in_flight == 0
    assert len(drawn) == len(found.outcomes)
    assert set(drawn) == set(range(7))
    assert 0.5 * 200 < found.throughput <= 200, "four clients, 20 ms each"
    assert found.percentile(0.5) >= 20
    assert found.rate is None


def test_a_client_that_is_refused_does_not_ask_without_end() -> None:
    async def send(_request: int) -> None:
        raise ConnectionRefusedError("Connection refused")

    found = asyncio.run(run_closed_loop(send, concurrency=2, seconds=0.3, requests=1, seed=1))
    assert 2 <= len(found.outcomes) <= 14
    assert found.failures == {"connection": len(found.outcomes)}
    assert found.throughput == 0
    assert math.isnan(percentile(found.answered, 0.5))


def test_throughput_counts_what_was_answered_in_time() -> None:
    def outcome(due: float, latency: float, failure: Failure | None = None) -> Outcome:
        return Outcome(due, latency, failure)

    refused = Failure(Kind.OVERLOADED, "the queue is full")
    outcomes = [outcome(0.5, 100), outcome(1.9, 50), outcome(1.9, 200), outcome(1.0, 1, refused)]
    found = Window(2.0, outcomes, None, 0, gave_up=False, lag=0.0, cores=0.0)
    assert found.throughput == 1.0
    assert found.answered == [100, 50, 200]
    assert found.failed == [1]
