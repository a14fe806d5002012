"""The translator in production: deadlines, deserted requests, metrics, the watchdog."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from serving.errors import EngineError
from serving.ping import PING_ID
from serving.scheduler import Scheduler
from serving.triton import service
from serving.triton.aligning import Aligning
from serving.triton.metrics import BUCKETS, Histogram, Metrics
from serving.triton.open_requests import OpenRequest, OpenRequests
from serving.triton.service import Limits, TranslatorService
from serving.triton.watchdog import Watchdog
from tests.unit.fake_engine import EOS
from tests.unit.fake_triton import Request, fake_triton, sentences
from tests.unit.watched_engine import LONG, WatchedEngine


def no_aligner() -> Any:
    raise AssertionError("nobody has asked for alignments")


class Held:
    """A service on an engine that steps only while it is let go."""

    def __init__(self, limits: Limits) -> None:
        self.triton = fake_triton()
        self.engine, self.go_on = WatchedEngine(), threading.Event()
        self.engine.on_step = lambda: self.go_on.wait(timeout=60)
        scheduler = Scheduler(self.engine, rows=4, queue=limits.queue)
        self.service = TranslatorService(
            self.triton, scheduler, Aligning(no_aligner), 64, limits, "de"
        )

    def send(self, *rows: list[int], **keys: Any) -> Request:
        request = sentences(*rows, **keys)
        self.service.enqueue(request)
        return request

    def value(self, name: str, **labels: str) -> float:
        text = ",".join(f'{key}="{value}"' for key, value in {"model": "de", **labels}.items())
        return float(self.triton.values[f"dragoman_{name}{{{text}}}"])


@pytest.fixture
def held() -> Iterator[Held]:
    made = Held(Limits(queue=2, deadline=60, log_requests=True))
    yield made
    made.go_on.set()
    made.service.close()


def wait_for(condition: Callable[[], object]) -> None:
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_deadline_ends_what_waits_and_what_is_in_flight(held: Held) -> None:
    flying = held.send(LONG, timeout=100_000)
    wait_for(lambda: held.engine.rows)
    waiting = held.send(LONG, parameters={"timeout": 150_000})
    other = held.send([9, EOS])
    wait_for(lambda: waiting.sent and flying.sent)
    assert flying.error.code == waiting.error.code == "cancelled"
    assert "deadline: not translated within 0.1 s" in flying.error.message
    assert "deadline: not translated within 0.15 s" in waiting.error.message
    assert not other.sent
    held.go_on.set()
    wait_for(lambda: other.sent)
    assert other.sent[0][0].error is None


def test_the_rows_of_a_deserted_request_are_freed(held: Held) -> None:
    deserted = held.send(LONG)
    wait_for(lambda: held.engine.rows)
    other = held.send([9, EOS])
    deserted.deserted = True
    wait_for(lambda: deserted.sent)
    assert deserted.error.code == "cancelled"
    held.go_on.set()
    wait_for(lambda: other.sent)
    assert held.engine.rows == [1, *held.engine.rows[1:]]
    assert not any(tuple(LONG) in group for group in held.engine.groups[1:])


def test_what_is_told_of_requests(held: Held) -> None:
    first = held.send([9, EOS])
    wait_for(lambda: held.engine.rows)
    held.send([10, EOS], [11, EOS])
    refused = held.send([12, EOS])
    assert refused.error.code == "unavailable"
    assert "overloaded: 2 sentences wait before it" in refused.error.message
    held.send([7, 1000])
    wait_for(lambda: held.value("waiting_sentences") == 2)
    assert held.value("in_flight_sentences") == 1
    assert held.value("open_requests") == 2
    assert held.value("queue_limit_sentences") == 2
    assert held.value("stalled_seconds") > 0
    held.go_on.set()
    wait_for(lambda: first.sent)
    wait_for(lambda: held.value("requests_total", outcome="ok") == 2)
    assert held.value("requests_total", outcome="overloaded") == 1
    assert held.value("requests_total", outcome="invalid") == 1
    assert held.value("sentences_total") == 3
    assert held.value("source_tokens_total") == 6
    assert held.value("output_tokens_total") > 3
    assert held.value("request_seconds_count") == 4
    assert held.value("first_join_seconds_count") == 2
    assert held.value("step_rows_total") >= sum(held.engine.rows) > 0
    assert held.value("open_requests") == 0
    lines = [json.loads(line) for line in held.triton.lines if line.startswith("{")]
    assert sorted(line["outcome"] for line in lines) == ["invalid", "ok", "ok", "overloaded"]
    assert {line["id"] for line in lines} == {"number 1"}
    assert sum(line["sentences"] for line in lines if line["outcome"] == "ok") == 3


def test_a_ping_is_answered_at_once_and_counted_nowhere(held: Held) -> None:
    flying = held.send(LONG)
    wait_for(lambda: held.engine.rows)
    ping = held.send([], name=PING_ID)
    ((answer, _),) = ping.sent
    assert answer.error is None
    assert len(held.service._open) == 1
    no_ping = held.send([9, EOS], name=PING_ID)
    assert len(held.service._open) == 2, "its id alone makes no ping"
    held.go_on.set()
    wait_for(lambda: held.value("requests_total", outcome="ok") == 2)
    assert flying.sent
    assert no_ping.sent
    assert len(held.triton.lines) == 2


def test_metrics_are_changed_one_at_a_time() -> None:
    """Two threads at once would bring down the whole server."""
    busy = threading.Lock()

    class Metric:
        def change(self, _value: float) -> None:
            assert busy.acquire(blocking=False), "two at once"
            time.sleep(0.0005)
            busy.release()

        increment = set = change

    def family(**_keys: Any) -> Any:
        return SimpleNamespace(Metric=lambda labels: Metric())

    family.COUNTER = family.GAUGE = "kind"  # type: ignore[attr-defined]
    metrics = Metrics(SimpleNamespace(MetricFamily=family), "de")
    metrics.counter("a", "meaning")
    metrics.gauge("b", "meaning")

    def change(number: int) -> None:
        metrics.add("a", 1) if number % 2 else metrics.set("b", 1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(change, range(200)))


@pytest.mark.parametrize("seed", range(3))
def test_histograms_are_prometheus(seed: int) -> None:
    triton = fake_triton()
    histogram = Histogram(Metrics(triton, "m"), "x", "some time")
    values = np.random.default_rng(seed).exponential(2.0, 200).tolist() + list(BUCKETS)
    for start in range(0, len(values), 50):
        histogram.observe(values[start : start + 50])
    for bound in BUCKETS:
        counted = triton.values[f'x_bucket{{model="m",le="{bound:g}"}}']
        assert counted == sum(value <= bound for value in values)
    assert triton.values['x_bucket{model="m",le="+Inf"}'] == len(values)
    assert triton.values['x_count{model="m"}'] == len(values)
    assert triton.values['x_sum{model="m"}'] == pytest.approx(sum(values))


def test_open_requests_show_above_zero_whenever_there_are_any() -> None:
    shown: list[int] = []
    requests = OpenRequests(shown.append)
    two = [OpenRequest(None), OpenRequest(None)]
    requests.add(two[0])
    requests.add(two[1])
    requests.publish()
    requests.remove(two[0])
    requests.remove(two[1])
    requests.add(two[0])
    requests.publish()
    requests.remove(two[0])
    requests.publish()
    requests.publish()
    assert shown == [0, 1, 2, 1, 0]


def test_a_stuck_engine_ends_requests_and_process(monkeypatch: pytest.MonkeyPatch) -> None:
    exits: list[int] = []
    monkeypatch.setattr(os, "_exit", exits.append)
    held = Held(Limits(stall=1))
    flying = held.send(LONG)
    wait_for(lambda: exits)
    assert exits[0] == service.EXIT_STATUS
    assert flying.error.code == "unavailable"
    assert "the engine is stuck" in flying.error.message
    assert held.value("requests_total", outcome="failed") == 1
    assert held.value("open_requests") == 0
    assert held.send([9, EOS]).error.code == "unavailable"
    held.go_on.set()
    held.service.close()


def test_the_watchdog_leaves_a_well_engine_alone() -> None:
    with Scheduler(WatchedEngine()) as scheduler:
        ends: list[str] = []
        watchdog = Watchdog(scheduler, stall=5, end=lambda: ends.append("ended"))
        watchdog.check()
        assert not ends
        scheduler.fail(EngineError("dead"))
        watchdog.check()
        assert ends == ["ended"]
