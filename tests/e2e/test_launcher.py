"""The launcher: clear words when it cannot start, and nothing left behind when it ends."""

from __future__ import annotations

import os
import signal
import socket
import threading
from pathlib import Path

import pytest

from bench.served.server import free_ports
from tests.e2e.launched import (
    REPOSITORY,
    LaunchedServer,
    is_running,
    run_serve,
    wait_until,
)


def own_server(folder: Path, *options: str) -> LaunchedServer:
    """A server for one test, which may harm it."""
    return LaunchedServer(REPOSITORY, folder / "server.log", *options)


def assert_nothing_is_left(server: LaunchedServer, processes: list[int]) -> None:
    wait_until(lambda: not any(map(is_running, processes)), "all processes gone")
    wait_until(lambda: not server.shared_memory(), "shared memory freed")


def test_ready_message_tells_how_to_try_it(server: LaunchedServer) -> None:
    output = server.output()
    url = f"http://127.0.0.1:{server.http_port}/v2/models/translate/generate"
    assert f"curl -s {url} -d " in output
    assert f"127.0.0.1:{server.grpc_port}" in output
    assert f"http://127.0.0.1:{server.metrics_port}/metrics" in output


def test_a_port_in_use_is_named_with_the_option_to_change_it() -> None:
    ports = free_ports(2)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        arguments = [f"--http-port={ports[0]}", f"--metrics-port={ports[1]}"]
        result = run_serve(str(REPOSITORY), *arguments, f"--grpc-port={port}")
    assert result.returncode == 2
    assert f"port {port} on 127.0.0.1 is in use by another program" in result.stderr
    assert "--grpc-port" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "no model repository at nowhere"),
        (["tests"], "it holds no model 'translate'"),
        (["--http-port=9", "--grpc-port=9"], "--grpc-port and --http-port are both 9"),
        (["--http-port=0"], "--http-port must be from 1 to 65535"),
        (["--host=nowhere.invalid"], "--host nowhere.invalid"),
        (["--tritonserver=tests"], "no tritonserver program there"),
    ],
)
def test_a_start_that_cannot_work_says_why(arguments: list[str], message: str) -> None:
    result = run_serve(*arguments)
    assert result.returncode == 2
    assert "dragoman: error: " in result.stderr
    assert message in result.stderr


def test_a_broken_model_is_the_reason_of_the_failure(tmp_path: Path) -> None:
    for model in REPOSITORY.iterdir():
        if model.is_dir():
            (tmp_path / model.name / "1").mkdir(parents=True)
            for name in ("config.pbtxt", "1/model.py"):
                if (model / name).exists():
                    (tmp_path / model.name / name).write_bytes((model / name).read_bytes())
    ports = [
        f"--{n}-port={p}" for n, p in zip(("http", "grpc", "metrics"), free_ports(3), strict=True)
    ]
    result = run_serve(str(tmp_path), *ports)
    assert result.returncode == 2
    assert "tritonserver ended with exit code 1" in result.stderr
    assert str(tmp_path / "translator/1") in result.stderr


def test_an_engine_that_cannot_run_here_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_ENGINE", "tensorrt")
    ports = zip(("http", "grpc", "metrics"), free_ports(3), strict=True)
    result = run_serve(str(REPOSITORY), *(f"--{name}-port={port}" for name, port in ports))
    assert result.returncode == 2
    assert "translator: no GPU can be used here" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_everything(tmp_path: Path, number: signal.Signals) -> None:
    with own_server(tmp_path) as server:
        processes = [server.tritonserver, *server.model_processes()]
        assert len(processes) == 5
        assert server.stop(number) == 0
        assert_nothing_is_left(server, processes)


def test_a_request_in_flight_is_answered_before_the_stop(tmp_path: Path) -> None:
    with own_server(tmp_path) as server:
        answers = []
        texts = [f"There are {n} books on the table, and nobody reads them." for n in range(64)]
        client = threading.Thread(target=lambda: answers.append(server.generate(text=texts)))
        before = server.successes("preprocess")
        client.start()
        # Its texts are prepared, so the translator is at work on them.
        wait_until(lambda: server.successes("preprocess") > before, "request under way")
        assert server.stop(signal.SIGTERM) == 0
        client.join()
    (status, answer), *_ = answers
    assert status == 200
    assert len(answer["translation"]) == len(texts)


def test_nothing_outlives_a_launcher_that_dies(tmp_path: Path) -> None:
    with own_server(tmp_path) as server:
        processes = [server.tritonserver, *server.model_processes()]
        server.stop(signal.SIGKILL)
        assert_nothing_is_left(server, processes)


@pytest.mark.parametrize("victim", ["tritonserver", "model"])
def test_without_recoveries_a_death_ends_the_launcher_with_the_reason(
    tmp_path: Path, victim: str
) -> None:
    with own_server(tmp_path, "--max-recoveries=0") as server:
        processes = [server.tritonserver, *server.model_processes()]
        os.kill(processes[0 if victim == "tritonserver" else 1], signal.SIGKILL)
        assert server.process.wait() == 2
        expected = "ended with signal SIGKILL" if victim == "tritonserver" else " died; giving up"
        assert expected in server.output()
        assert_nothing_is_left(server, processes)
