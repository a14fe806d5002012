"""Parts of the load tester: failures by kind, the server's counters, requests from files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tritonclient.utils import InferenceServerException

from serving import cli
from serving.errors import DragomanError
from serving.load.arrivals import poisson
from serving.load.counters import Counters
from serving.load.failures import MESSAGE_CHARACTERS, DifferentTranslationError, failure_of
from serving.load.perf_analyzer import input_data
from serving.load.requests import group_requests, read_requests
from serving.request_options import Options

UNREACHED = "failed to connect to all addresses; last error: UNKNOWN: Connection refused"


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        ("StatusCode.UNAVAILABLE", "in ensemble, overloaded: 9 sentences wait", "overloaded"),
        ("StatusCode.UNAVAILABLE", "in ensemble, the engine is stuck", "other"),
        ("400", "in ensemble, overloaded: 9 sentences wait", "overloaded"),
        ("503", "in ensemble, Exceeds maximum queue size", "overloaded"),
        ("StatusCode.UNAVAILABLE", UNREACHED, "connection"),
        ("StatusCode.UNAVAILABLE", "Socket closed", "connection"),
        ("StatusCode.DEADLINE_EXCEEDED", "Deadline Exceeded", "deadline"),
        ("400", "the request's deadline of 5 s has passed", "deadline"),
        ("StatusCode.INVALID_ARGUMENT", "text 1 of 1 has 30,000 characters", "invalid"),
        ("400", "text 1 of 1 has 30,000 characters", "invalid"),
        ("400", "internal error: MemoryError: ", "other"),
        ("500", "Stub process is not healthy", "other"),
        ("StatusCode.NOT_FOUND", "Request for unknown model", "other"),
    ],
)
def test_answers_of_the_server_are_failures_by_kind(status: str, message: str, kind: str) -> None:
    found = failure_of(InferenceServerException(message, status))
    assert found.kind == kind
    assert message.rstrip() in found.message


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError(), "deadline"),
        (ConnectionRefusedError("refused"), "connection"),
        (aiohttp.ServerDisconnectedError(), "connection"),
        (aiohttp.ServerTimeoutError(), "deadline"),
        (DifferentTranslationError("'a' became 'b'"), "different"),
        (KeyError("translation"), "other"),
    ],
)
def test_errors_of_the_client_are_failures_by_kind(error: Exception, kind: str) -> None:
    assert failure_of(error).kind == kind
    assert failure_of(error).message


def test_a_long_message_is_cut() -> None:
    assert len(failure_of(ValueError("x" * 10_000)).message) == MESSAGE_CHARACTERS


@pytest.mark.parametrize(
    ("option", "word", "message"),
    [
        ("--http", "http://localhost:8000", "is not HOST:PORT"),
        ("--server", "localhost", "is not HOST:PORT"),
        ("--rate", "10,0", "'0' is not a number above 0"),
        ("--concurrency", "1.5", "'1.5' is not a number above 0"),
        ("--seconds", "inf", "'inf' is not a number above 0"),
        ("--warm-up-seconds", "-1", "not a number above 0"),
    ],
)
def test_a_wrong_argument_is_told(
    option: str, word: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["load", "--text", "file", f"{option}={word}"])
    assert message in capsys.readouterr().err


METRICS = """\
# HELP dragoman_steps_total Decoding steps
# TYPE dragoman_steps_total counter
dragoman_steps_total{model="translator"} 10
dragoman_steps_total{model="translator_fr"} 5
# TYPE dragoman_step_rows_total counter
dragoman_step_rows_total{model="translator"} 120
# TYPE dragoman_waiting_sentences gauge
dragoman_waiting_sentences{model="translator"} 7
# TYPE dragoman_request_seconds_bucket counter
dragoman_request_seconds_bucket{model="translator",le="+Inf"} 3
"""


def test_counters_are_read_and_gauges_and_buckets_are_not() -> None:
    found = Counters.parse(METRICS)
    assert len(found.values) == 3
    assert found.total("dragoman_steps_total") == 15
    assert found.total("dragoman_waiting_sentences") is None
    assert found.total("dragoman_step") is None, "a name is no beginning of a name"


def test_what_a_load_moved_is_a_difference() -> None:
    after = METRICS.replace('or"} 10', 'or"} 30').replace("} 120", "} 420")
    moved = Counters.parse(after).since(Counters.parse(METRICS))
    assert moved.values == {
        'dragoman_steps_total{model="translator"}': 20,
        'dragoman_step_rows_total{model="translator"}': 300,
    }
    assert moved.ratio("dragoman_step_rows_total", "dragoman_steps_total") == 15
    assert moved.ratio("dragoman_output_tokens_total", "dragoman_steps_total") is None


def test_a_server_without_metrics_has_no_counters() -> None:
    assert Counters.scrape("127.0.0.1:1") is None
    assert Counters.scrape("no address") is None


def test_requests_are_groups_of_the_lines_that_are_not_blank(tmp_path: Path) -> None:
    text, expected = tmp_path / "text.gz", tmp_path / "expected"
    text.write_bytes(gzip.compress(b"a\n\nb\n \nc\nd\ne\n"))
    expected.write_text("A\n\nB\n\nC\nD\nE\n")
    found = read_requests(text, expected, texts_per_request=2, sentences=None)
    assert [request.texts for request in found] == [("a", "b"), ("c", "d")]
    assert [request.expected for request in found] == [("A", "B"), ("C", "D")]
    assert len(read_requests(text, None, 1, sentences=3)) == 3
    with pytest.raises(DragomanError, match="holds 5 sentences, but a request holds 6"):
        read_requests(text, None, 6, None)
    expected.write_text("A\n")
    with pytest.raises(DragomanError, match="has 1 lines .* has 7"):
        read_requests(text, expected, 1, None)


def test_perf_analyzer_gets_the_same_requests() -> None:
    requests = group_requests(["Grüße", "b"], None, texts_per_request=2)
    (entry,) = json.loads(input_data(requests, Options(beam_size=2, length_penalty=0.6, n_best=1)))[
        "data"
    ]
    assert entry["text"] == {"content": ["Grüße", "b"], "shape": [2]}
    assert entry["beam_size"] == [2]


@given(
    rate=st.floats(0.1, 300),
    seconds=st.floats(0.05, 30),
    requests=st.integers(1, 50),
    seed=st.integers(0, 2**32),
)
def test_arrivals_stay_within_their_window(
    rate: float, seconds: float, requests: int, seed: int
) -> None:
    found = poisson(rate, seconds, requests, seed)
    due = found.due
    assert len(due) == len(found.request)
    assert ((due >= 0) & (due < seconds)).all()
    assert (due[1:] >= due[:-1]).all()
    assert set(found.request.tolist()) <= set(range(requests))
    # Never cut short for want of draws: more than ten standard deviations are left over.
    assert len(due) < rate * seconds + 10 * (rate * seconds) ** 0.5 + 10
