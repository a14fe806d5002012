"""A `dragoman serve` of our own, as a person would start it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from bench.served.server import free_ports

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = ROOT / "model_repository"
STEP_SECONDS = 60.0
"""Longest wait for any one thing; far more than it takes."""


def serve_command(*arguments: str) -> list[str]:
    """The command line of `dragoman serve`."""
    return [sys.executable, "-m", "serving.cli", "serve", *arguments]


def run_serve(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `dragoman serve` to its end: for starts that must fail."""
    return subprocess.run(
        serve_command(*arguments),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=STEP_SECONDS,
        check=False,
    )


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Return once `condition` holds; fail the test when it never does."""
    deadline = time.monotonic() + STEP_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"never came true: {what}"
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    """Whether a process exists and is more than an entry that nobody has reaped."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def children(pid: int) -> list[int]:
    """The children of a process."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for text in lists for child in text.read_text().split()]


def command_line(pid: int) -> str:
    """The words of a process's command line; empty when it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


class LaunchedServer:
    """A server that is ready; stop it, or leave the `with` block."""

    def __init__(self, repository: Path, log: Path, *options: str, **environment: str) -> None:
        self.http_port, self.grpc_port, self.metrics_port = free_ports(3)
        self.repository, self.log = repository, log
        self._output = log.with_suffix(".out").open("w+")
        self.process = subprocess.Popen(
            serve_command(str(repository), *self.arguments(), "--log-file", str(log), *options),
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=self._output,
            stderr=subprocess.STDOUT,
            text=True,
        )
        wait_until(lambda: "ready after" in self.output() or not self.runs(), "server ready")
        assert self.runs(), self.output()

    def arguments(self) -> Sequence[str]:
        """The options that choose this server's ports."""
        return [
            f"--http-port={self.http_port}",
            f"--grpc-port={self.grpc_port}",
            f"--metrics-port={self.metrics_port}",
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.runs():
            self.stop(signal.SIGTERM)
        self._output.close()

    def runs(self) -> bool:
        """Whether the launcher runs."""
        return self.process.poll() is None

    def output(self) -> str:
        """What the launcher has printed so far."""
        return Path(self._output.name).read_text()

    def stop(self, number: signal.Signals) -> int:
        """Send a signal to the launcher, wait for its end and return its exit code."""
        self.process.send_signal(number)
        return self.process.wait(STEP_SECONDS)

    @property
    def tritonserver(self) -> int:
        """The process id of the tritonserver."""
        (pid,) = children(self.process.pid)
        return pid

    def model_processes(self) -> list[int]:
        """The Python processes of the models."""
        return children(self.tritonserver)

    def process_of(self, model: str) -> int:
        """The Python process of one model."""
        (pid,) = [p for p in self.model_processes() if f"/{model}/1/model.py" in command_line(p)]
        return pid

    def shared_memory(self) -> list[str]:
        """This server's regions of shared memory."""
        prefix = f"dragoman_{self.process.pid}_"
        return [path.name for path in Path("/dev/shm").glob(f"{prefix}*")]

    def is_ready(self) -> bool:
        """Whether the server says that `translate` is ready."""
        return self.get("/v2/models/translate/ready")[0] == 200

    def successes(self, model: str) -> int:
        """How many requests a model has answered."""
        statistics = json.loads(self.get(f"/v2/models/{model}/stats")[1])
        return int(statistics["model_stats"][0]["inference_stats"]["success"]["count"])

    def metric(self, name: str, **labels: str) -> float:
        """The value of one of the translator's metrics."""
        wanted = {"model": "translator", **labels}
        text = self.get("/metrics", self.metrics_port)[1].decode()
        for found in re.finditer(rf"^{name}{{(.*)}} (\S+)$", text, re.MULTILINE):
            if dict(re.findall(r'(\w+)="([^"]*)"', found[1])) == wanted:
                return float(found[2])
        raise AssertionError(f"no metric {name} {wanted}")

    def get(self, path: str, port: int | None = None) -> tuple[int, bytes]:
        """Status and body of a GET."""
        return self._request("GET", path, None, port or self.http_port)

    def post(
        self, body: bytes, verb: str = "generate", wait: float = STEP_SECONDS
    ) -> tuple[int, dict[str, Any]]:
        """Status and JSON answer of a body sent to `translate`, as curl sends it."""
        path = f"/v2/models/translate/{verb}"
        status, answer = self._request("POST", path, body, self.http_port, wait)
        return status, json.loads(answer)

    def generate(self, wait: float = STEP_SECONDS, **keys: Any) -> tuple[int, dict[str, Any]]:
        """Status and JSON answer of `generate`, which may take `wait` seconds."""
        return self.post(json.dumps(keys, ensure_ascii=False).encode(), wait=wait)

    def translate(self, text: str, **options: Any) -> Any:
        """The translation of one text, which must succeed."""
        status, answer = self.generate(text=text, **options)
        assert status == 200, answer
        return answer["translation"]

    def request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Status and body of any request."""
        return self._request(method, path, body, self.http_port)

    def _request(
        self, method: str, path: str, body: bytes | None, port: int, wait: float = STEP_SECONDS
    ) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=wait)
        try:
            connection.request(method, path, body)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()
