"""Processes that die or hang while others translate: no client waits in silence, and it goes on.

With DRAGOMAN_FAULT_REPORT=FILE, what the clients saw is appended there, a JSON object a fault.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from serving.launcher.endpoint import Endpoint
from serving.launcher.metrics import OPEN_REQUESTS, Metrics
from tests.e2e.launched import REPOSITORY, LaunchedServer, is_running, wait_until
from tests.e2e.traffic import SENTENCES, Traffic, offline_translations, report

MODELS = ("preprocess", "translator", "postprocess", "translate_stream")
FEW_SECONDS = 10.0
"""Far more than a client waits for an error on an idle machine: 4 seconds at most."""
LONG_TEXTS = [f"There are {n} books on the table, and nobody reads them." for n in range(400)]

DEADLOCK = """

import time
from pathlib import Path


class TritonPythonModel(TritonPythonModel):
    def execute(self, requests):
        while Path(__file__).with_name("trap").exists():
            time.sleep(60)
        return super().execute(requests)
"""


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LaunchedServer]:
    """A server that tests may harm, and that never gives up."""
    folder = tmp_path_factory.mktemp("victim")
    repository = folder / "repository"
    shutil.copytree(REPOSITORY, repository, ignore=shutil.ignore_patterns("__pycache__"))
    with (repository / "preprocess/1/model.py").open("a") as file:
        file.write(DEADLOCK)
    with LaunchedServer(repository, folder / "server.log", "--max-recoveries=1000") as launched:
        yield launched
        assert launched.runs(), launched.output()
        assert launched.stop(signal.SIGTERM) == 0


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    return offline_translations()


def open_requests(server: LaunchedServer) -> int | None:
    return Metrics.read(Endpoint("127.0.0.1", server.metrics_port)).of("translator", OPEN_REQUESTS)


def events(server: LaunchedServer, what: str) -> list[str]:
    return [line for line in server.output().splitlines() if what in line]


class Harm:
    """One fault: what is done, and what the launcher says and does about it."""

    def __init__(self, server: LaunchedServer, name: str) -> None:
        self.server = server
        self.name = name
        self._faults = len(events(server, "dragoman: "))
        self._recovered = len(events(server, "translates again"))
        self._began = time.monotonic()

    def send(self, pid: int, number: signal.Signals) -> None:
        self._began = time.monotonic()
        os.kill(pid, number)

    def wait(self) -> str:
        """Wait until the launcher says that it translates again, and return the line."""
        wait_until(lambda: len(events(self.server, "dragoman: ")) > self._faults, "a fault noticed")
        self.noticed = time.monotonic() - self._began
        wait_until(
            lambda: (
                len(events(self.server, "translates again")) > self._recovered
                or not self.server.runs()
            ),
            "recovery",
        )
        assert self.server.runs(), self.server.output()
        self.back = time.monotonic() - self._began
        return events(self.server, "translates again")[-1]

    def report(self, line: str, traffic: Traffic | None = None, **more: Any) -> None:
        action = "restart" if "started the server anew" in line else "reload"
        noticed, ready = round(self.noticed, 2), round(self.back, 2)
        report(self.name, traffic, action=action, noticed_s=noticed, ready_again_s=ready, **more)


def check(traffic: Traffic) -> None:
    traffic.check()
    assert traffic.slowest_error() < FEW_SECONDS, traffic.seen


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
@pytest.mark.parametrize("model", MODELS)
def test_a_model_that_is_lost_under_traffic_comes_back(
    victim: LaunchedServer, expected: dict[str, str], model: str, number: signal.Signals
) -> None:
    with Traffic(victim, expected) as traffic:
        wait_until(lambda: len(traffic.seen) > 8, "traffic")
        harm = Harm(victim, f"{number.name} of {model} under traffic")
        harm.send(victim.process_of(model), number)
        line = harm.wait()
        recovered = time.monotonic()
        wait_until(lambda: traffic.answered_since(recovered), "traffic after recovery")
    harm.report(line, traffic)
    assert f"{model}: its process" in line
    assert "died" in line if number == signal.SIGKILL else "stopped by a signal" in line
    assert harm.noticed < FEW_SECONDS
    check(traffic)


@pytest.mark.parametrize("model", MODELS)
def test_a_model_that_is_killed_while_idle_is_loaded_anew(
    victim: LaunchedServer, expected: dict[str, str], model: str
) -> None:
    wait_until(lambda: open_requests(victim) == 0, "idle")
    server_before = victim.tritonserver
    harm = Harm(victim, f"SIGKILL of {model}, idle")
    harm.send(victim.process_of(model), signal.SIGKILL)
    line = harm.wait()
    harm.report(line)
    assert f"{model}: its process" in line
    assert "loaded it anew" in line
    assert victim.tritonserver == server_before
    assert victim.translate(SENTENCES[0]) == expected[SENTENCES[0]]


def test_requests_that_a_killed_translator_held_end_with_an_error(
    victim: LaunchedServer, expected: dict[str, str]
) -> None:
    """Triton would leave these clients waiting for ever."""
    answers: list[tuple[float, Any]] = []

    def ask() -> None:
        try:
            answer: Any = victim.generate(text=LONG_TEXTS)
        except OSError as error:
            answer = error
        answers.append((time.monotonic(), answer))

    clients = [threading.Thread(target=ask) for _ in range(2)]
    before = victim.successes("preprocess")
    for client in clients:
        client.start()
    wait_until(lambda: victim.successes("preprocess") >= before + 2, "requests under way")
    harm = Harm(victim, "SIGKILL of translator that holds 2 long requests")
    harm.send(victim.process_of("translator"), signal.SIGKILL)
    killed = time.monotonic()
    line = harm.wait()
    for client in clients:
        client.join(FEW_SECONDS)
    assert len(answers) == 2, "a client still waits"
    assert all(isinstance(answer, OSError) for _, answer in answers), answers
    waited = max(when for when, _ in answers) - killed
    harm.report(line, requests_lost=2, slowest_error_s=round(waited, 2))
    assert waited < FEW_SECONDS
    assert "started the server anew" in line


def test_a_killed_server_comes_back_under_traffic(
    victim: LaunchedServer, expected: dict[str, str]
) -> None:
    processes = [victim.tritonserver, *victim.model_processes()]
    with Traffic(victim, expected) as traffic:
        wait_until(lambda: len(traffic.seen) > 8, "traffic")
        harm = Harm(victim, "SIGKILL of tritonserver under traffic")
        harm.send(processes[0], signal.SIGKILL)
        line = harm.wait()
        recovered = time.monotonic()
        wait_until(lambda: traffic.answered_since(recovered), "traffic after recovery")
    harm.report(line, traffic)
    assert "tritonserver: ended with signal SIGKILL; started the server anew" in line
    assert not any(map(is_running, processes))
    check(traffic)


def test_a_stopped_server_comes_back(victim: LaunchedServer, expected: dict[str, str]) -> None:
    harm = Harm(victim, "SIGSTOP of tritonserver, idle")
    harm.send(victim.tritonserver, signal.SIGSTOP)
    line = harm.wait()
    harm.report(line)
    assert "tritonserver: was stopped by a signal; started the server anew" in line
    assert victim.translate(SENTENCES[0]) == expected[SENTENCES[0]]


def test_a_pause_of_everything_is_no_fault(
    victim: LaunchedServer, expected: dict[str, str]
) -> None:
    """As `docker pause` does: the launcher's own clock stands still, too."""
    before = len(events(victim, "dragoman: "))
    everything = [victim.process.pid, victim.tritonserver, *victim.model_processes()]
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in everything:
            os.kill(pid, number)
        time.sleep(2.5)
    assert len(events(victim, "dragoman: ")) == before, victim.output()
    assert victim.translate(SENTENCES[0]) == expected[SENTENCES[0]]


def test_nobody_else_may_unload_a_model(victim: LaunchedServer, expected: dict[str, str]) -> None:
    status, _ = victim.request("POST", "/v2/repository/models/translator/unload", b"{}")
    assert status == 403
    assert victim.is_ready()


def test_a_deadlock_in_execute_is_noticed(victim: LaunchedServer, expected: dict[str, str]) -> None:
    """No signal tells of this one: the process is there, and sleeps."""
    harm = Harm(victim, "deadlock in preprocess, idle")
    trap = victim.repository / "preprocess/1/trap"
    trap.touch()
    wait_until(lambda: bool(events(victim, "neither answers")), "hang noticed")
    trap.unlink()
    line = harm.wait()
    harm.report(line)
    assert "preprocess: its process" in line
    assert "neither answers nor works; loaded it anew" in line
    assert victim.translate(SENTENCES[0]) == expected[SENTENCES[0]]


def ask_in_vain(server: LaunchedServer, statuses: list[int]) -> None:
    """Send texts that nobody will translate; an error may be told before the connection ends."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        statuses.append(server.generate(text=LONG_TEXTS)[0])


def test_deaths_beyond_the_limit_end_the_launcher_without_waiting(tmp_path: Path) -> None:
    """Neither for a request that its translator has taken along, nor for an idle connection."""
    with LaunchedServer(REPOSITORY, tmp_path / "server.log", "--max-recoveries=1") as server:
        harm = Harm(server, "SIGKILL of tritonserver, and then of translator")
        harm.send(server.tritonserver, signal.SIGKILL)
        harm.wait()
        idle = socket.create_connection(("127.0.0.1", server.http_port))
        idle.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n")
        assert idle.recv(100)
        statuses: list[int] = []
        held = threading.Thread(target=ask_in_vain, args=(server, statuses))
        before = server.successes("preprocess")
        held.start()
        wait_until(lambda: server.successes("preprocess") > before, "request under way")
        processes = [server.tritonserver, *server.model_processes()]
        began = time.monotonic()
        os.kill(server.process_of("translator"), signal.SIGKILL)
        assert server.process.wait(60) == 2
        assert time.monotonic() - began < FEW_SECONDS, "the exit timeout is 30 s"
        held.join()
        assert 200 not in statuses
        idle.close()
        assert "giving up: the limit is 1 recoveries within 10 minutes" in server.output()
        assert not any(map(is_running, processes))
        assert not server.shared_memory()


def test_a_stop_during_recovery_is_obeyed(tmp_path: Path) -> None:
    with LaunchedServer(REPOSITORY, tmp_path / "server.log") as server:
        os.kill(server.process_of("translator"), signal.SIGKILL)
        wait_until(lambda: bool(events(server, "translator: its process")), "fault noticed")
        processes = [server.tritonserver, *server.model_processes()]
        began = time.monotonic()
        assert server.stop(signal.SIGTERM) == 0
        assert time.monotonic() - began < FEW_SECONDS
        wait_until(lambda: not any(map(is_running, processes)), "all processes gone")
        assert not server.shared_memory()
