"""`dragoman load` against a real server, for a few seconds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from serving import cli
from tests.e2e.launched import LaunchedServer

TEXT = ["Good morning.", "", "Where is the station?", "She reads a book before she goes to bed."]


def load(server: LaunchedServer, *words: str) -> int:
    return cli.main(
        [
            *("load", "--server", f"127.0.0.1:{server.grpc_port}"),
            *("--http", f"127.0.0.1:{server.http_port}"),
            *("--metrics", f"127.0.0.1:{server.metrics_port}"),
            *("--warm-up-seconds", "0.2", *words),
        ]
    )


@pytest.fixture
def text(tmp_path: Path) -> Path:
    file = tmp_path / "text"
    file.write_text("".join(f"{line}\n" for line in TEXT))
    return file


@pytest.fixture
def expected(server: LaunchedServer, tmp_path: Path) -> Path:
    file = tmp_path / "expected"
    file.write_text("".join(f"{line}\n" for line in server.generate(text=TEXT)[1]["translation"]))
    return file


def test_both_protocols_are_loaded_and_every_answer_is_as_expected(
    server: LaunchedServer, text: Path, expected: Path, tmp_path: Path
) -> None:
    """Closed and open loops; every request is answered, compared and counted by the server."""
    before = server.successes("translate")
    figures = tmp_path / "load.json"
    words = ["--protocol", "both", "--concurrency", "4", "--rate", "20", "--seconds", "0.5"]
    words += ["--text", str(text), "--expect", str(expected), "--json", str(figures)]
    assert load(server, *words) == 0

    found = json.loads(figures.read_text())
    measurements = found["measurements"]
    loads = [(m["protocol"], m["concurrency"], m["rate"]) for m in measurements]
    assert loads == [("grpc", 4, None), ("grpc", None, 20), ("http", 4, None), ("http", None, 20)]
    assert found["sentences"] == 3
    assert found["different"] == 0
    for one in measurements:
        assert one["requests"] > 0
        assert one["failures"] == {}
        assert 0 < one["answered"]["p50"] <= one["answered"]["p95"] <= one["answered"]["largest"]
        counters = one["server"]["counters"]
        counted = counters['nv_inference_request_success{model="translate",version="1"}']
        # Triton counts a request a moment after its answer.
        assert counted == pytest.approx(one["requests"], abs=4)
        counts_tokens = any(name.startswith("dragoman_output_tokens_total") for name in counters)
        assert (one["tokens_per_second"] is not None) == counts_tokens
    sent = sum(one["requests"] for one in measurements)
    assert server.successes("translate") - before > sent, "those of the warm-up, too"


def test_the_highest_rate_is_searched_for_and_drawn(
    server: LaunchedServer, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = tmp_path / "load.png"
    words = ["--search", "--limit-ms", "400", "--seconds", "0.4", "--texts-per-request", "3"]
    assert load(server, "--text", str(text), *words, "--plot", str(plot)) == 0
    printed = capsys.readouterr().out
    assert "highest rate with p95 <= 400 ms over grpc: " in printed
    assert "Open loop" in printed
    assert "Closed loop" not in printed
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_answers_that_differ_fail_the_command(
    server: LaunchedServer, text: Path, expected: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected.write_text(expected.read_text().replace("?", "!"))
    words = ["--rate", "30", "--seconds", "0.5", "--text", str(text), "--expect", str(expected)]
    assert load(server, *words) == 1
    printed = capsys.readouterr().out
    assert "failed, different: " in printed
    assert "'Where is the station?' became " in printed


def test_what_the_server_refuses_is_counted_and_told(
    server: LaunchedServer, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text.write_text("Good morning.\n" + "x" * 1_100_000 + "\n")
    words = ["--protocol", "http", "--concurrency", "2", "--seconds", "0.5", "--text", str(text)]
    assert load(server, *words) == 0
    assert "failed, invalid: " in capsys.readouterr().out
    assert server.is_ready()


@pytest.mark.parametrize(("option", "protocol"), [("--server", "grpc"), ("--http", "http")])
def test_no_server_is_told(
    text: Path, option: str, protocol: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["load", "--protocol", protocol, option, "127.0.0.1:1", "--text", str(text)]
    assert cli.main(words) == 2
    printed = capsys.readouterr()
    assert f"no server answers at 127.0.0.1:1 ({protocol})" in printed.err
    assert f"name it with {option} HOST:PORT" in printed.err
    assert printed.out == ""
