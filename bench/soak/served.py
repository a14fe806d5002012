"""A `dragoman serve` as a child process, and the processes under it by name."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from bench.served.server import HOST, free_ports
from serving.errors import DragomanError
from serving.launcher.settings import EXIT_TIMEOUT_SECONDS, READY_TIMEOUT_SECONDS
from serving.launcher.vitals import children_of, command_of, model_of

LAUNCHER, SERVER = "launcher", "tritonserver"
READY = "ready after"
POLL_SECONDS = 0.1
STOP_SECONDS = EXIT_TIMEOUT_SECONDS + 10.0
LOG_LINES = 10


class ServeProcess:
    """Starts when it is entered; is ready then, and stops at the end.

    Attributes:
        grpc: host:port.
        http: host:port.
        metrics: host:port.
    """

    def __init__(self, repository: Path, log: Path) -> None:
        """Choose free ports.

        Args:
            repository: to serve.
            log: file for what the launcher prints.
        """
        ports = free_ports(3)
        self.grpc, self.http, self.metrics = (f"{HOST}:{port}" for port in ports)
        names = zip(("grpc", "http", "metrics"), ports, strict=True)
        options = [f"--{name}-port={port}" for name, port in names]
        self._command = [sys.executable, "-m", "serving.cli", "serve", str(repository), *options]
        self._log = log
        self._repository = repository.resolve()
        self._process: subprocess.Popen[bytes]

    def __enter__(self) -> Self:
        with self._log.open("wb") as stream:
            self._process = subprocess.Popen(
                self._command, stdout=stream, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def processes(self) -> dict[str, int]:
        """Process ids: the launcher's, the server's, and each model's Python's by its name."""
        found = {LAUNCHER: self._process.pid}
        for server in children_of(self._process.pid):
            found[SERVER] = server
            for child in children_of(server):
                name = model_of(command_of(child), self._repository)
                found[name or f"process {child}"] = child
        return found

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_SECONDS
        while READY not in (printed := self._log.read_text("utf-8", errors="replace")):
            if self._process.poll() is not None or time.monotonic() > deadline:
                last = "\n".join(printed.splitlines()[-LOG_LINES:])
                raise DragomanError(f"dragoman serve does not serve; it says:\n{last}")
            time.sleep(POLL_SECONDS)

    def _stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
