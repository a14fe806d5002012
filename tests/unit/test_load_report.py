"""A load test's figures: what counts, and how they read."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from serving.load.counters import Counters
from serving.load.failures import Failure, Kind
from serving.load.measurement import Measurement
from serving.load.plot import draw
from serving.load.report import Report
from serving.load.tables import to_markdown
from serving.load.window import Outcome, Window

LIMIT = 500.0
MOVED = Counters(
    {
        'dragoman_sentences_total{model="translator"}': 200,
        'dragoman_output_tokens_total{model="translator"}': 1900,
        'dragoman_steps_total{model="translator"}': 100,
        'dragoman_step_rows_total{model="translator"}': 1250,
        'dragoman_step_seconds_total{model="translator"}': 0.8,
        'dragoman_first_join_seconds_sum{model="translator"}': 6.0,
        'dragoman_first_join_seconds_count{model="translator"}': 200,
    }
)


def outcomes(count: int, latency: float = 100.0, failed: int = 0) -> list[Outcome]:
    failure = Failure(Kind.OVERLOADED, "the queue is full")
    return [Outcome(0.1 * n, latency) for n in range(count)] + [
        Outcome(0.0, 3.0, failure) for _ in range(failed)
    ]


def measurement(
    found: list[Outcome],
    rate: float | None = 10.0,
    moved: Counters | None = MOVED,
    seconds: float = 20.0,
    texts: int = 1,
) -> Measurement:
    window = Window(seconds, found, rate, backlog=0, gave_up=False, lag=2.0, cores=0.1)
    return Measurement.of(
        window,
        protocol="grpc",
        concurrency=None if rate else 4,
        searching=False,
        texts_per_request=texts,
        limit=LIMIT,
        moved=moved,
    )


def report(*measurements: Measurement) -> Report:
    options = {"beam_size": 4, "length_penalty": 0.6}
    servers = {"grpc": "127.0.0.1:8001"}
    return Report(
        "a machine", servers, "text", 9, 7.5, 1, options, LIMIT, False, list(measurements)
    )


def test_failures_are_counted_apart_from_latencies() -> None:
    found = measurement(outcomes(97, failed=3))
    assert found.requests == 100
    assert found.failures == {"overloaded": 3}
    assert found.examples == {"overloaded": "the queue is full"}
    assert found.answered.largest == 100
    assert found.failed is not None
    assert found.failed.p50 == 3
    assert found.holds
    assert not measurement(outcomes(94, failed=6)).holds, "a failed request never came in time"


def test_tokens_per_second_come_from_the_servers_counters() -> None:
    found = measurement(outcomes(200), texts=2)
    assert found.sentences_per_second == pytest.approx(2 * 199 / 20), "the last came too late"
    assert found.rate == 20
    assert found.tokens_per_second == pytest.approx(found.sentences_per_second * 9.5)
    assert found.server is not None
    assert found.server.rows_per_step == 12.5
    assert found.server.step_milliseconds == pytest.approx(8)
    assert found.server.wait_milliseconds == pytest.approx(30)
    assert measurement(outcomes(5), moved=None).tokens_per_second is None
    assert measurement(outcomes(5), moved=Counters({})).tokens_per_second is None


def test_a_long_window_is_told_by_the_minute() -> None:
    slow = [Outcome(60 + 0.1 * n, 900.0) for n in range(10)]
    found = measurement([*outcomes(600), *slow], seconds=180.0).minutes
    assert [(m.requests, m.p95) for m in found[:2]] == [(600, 100), (10, 900)]
    assert found[2].requests == 0
    assert math.isnan(found[2].p50)
    assert measurement(outcomes(5)).minutes == []


def test_json_holds_all_figures_and_no_number_that_is_none() -> None:
    found = report(measurement(outcomes(9)), measurement(outcomes(0, failed=2)))
    values = json.loads(found.to_json())
    first, second = values["measurements"]
    assert first["answered"]["p95"] == 100
    assert second["answered"]["p95"] is None
    assert second["failures"] == {"overloaded": 2}
    assert first["server"]["counters"]['dragoman_steps_total{model="translator"}'] == 100


def test_tables_have_a_column_only_for_what_is_known() -> None:
    closed = measurement(outcomes(100), rate=None)
    found = report(closed, measurement(outcomes(98, failed=2), rate=10))
    found.highest = {"grpc": 41.5, "http": None}
    text = to_markdown(found)
    assert "| grpc | 4 | 5.0 | 48 | 100 | 100 | 100 | 100 | 100 | 0 | 12.5 | 8.0 | 30.0 |" in text
    assert "| grpc | 10.0 | 4.9 | 47 |" in text
    assert "p95 <= 500 ms over grpc: 41.5 sentences/s" in text
    assert "over http: none" in text
    assert "failed, overloaded: 2 requests" in text
    assert "differ" not in text
    bare = to_markdown(report(measurement(outcomes(100), moved=None)))
    assert "target tokens" not in bare
    assert "--metrics" in bare


def test_a_picture_is_drawn_of_any_part(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    opened, closed = measurement(outcomes(100)), measurement(outcomes(100), rate=None)
    for number, found in enumerate((report(opened), report(closed), report(opened, closed))):
        file = tmp_path / f"{number}.png"
        draw(found, file)
        assert file.read_bytes().startswith(b"\x89PNG")
