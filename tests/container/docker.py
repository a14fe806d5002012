"""Docker's command line, and one container of an image of ours."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
CPU_IMAGE = "dragoman:cpu"
BASE_IMAGE = os.environ.get("BASE_IMAGE", "python:3.11-slim-bookworm")
START_SECONDS = 60.0
COMMAND_SECONDS = 300.0
"""Far more than the slowest command takes, which builds an image."""

CONFINED = (
    *("--read-only", "--tmpfs", "/tmp", "--shm-size", "1g"),
    *("--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
)
"""As docker-compose.yml confines the translator."""


def docker(
    *arguments: str, environment: Mapping[str, str] | None = None, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a docker command in the project's folder; both outputs are in `stdout`."""
    done = subprocess.run(
        ["docker", *arguments],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=COMMAND_SECONDS,
    )
    assert not check or done.returncode == 0, done.stdout[-4000:]
    return done


def post(port: int, body: Mapping[str, Any], seconds: float = 60.0) -> tuple[int, dict[str, Any]]:
    """Status and answer of a request for translations over HTTP."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    try:
        connection.request("POST", "/v2/models/translate/generate", json.dumps(body))
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


class Container:
    """A container in the background; removed when the `with` block is left."""

    def __init__(self, image: str, options: Sequence[str] = (), arguments: Sequence[str] = ()):
        self.id = docker(
            *("run", "--detach", "--publish", "127.0.0.1::8000"),
            *(*CONFINED, *options, image, *arguments),
        ).stdout.strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        docker("rm", "--force", "--volumes", self.id)

    def log(self) -> str:
        """What it has printed."""
        return docker("logs", self.id).stdout

    def run(self, *command: str, check: bool = True) -> str:
        """Run a command inside; returns what it prints."""
        return docker("exec", self.id, *command, check=check).stdout

    def state(self) -> dict[str, Any]:
        """What Docker knows about its process."""
        state: dict[str, Any] = json.loads(
            docker("inspect", "--format", "{{json .State}}", self.id).stdout
        )
        return state

    def wait_for(self, text: str) -> None:
        """Return once it has printed a text; fail the test when it ends or never does."""
        deadline = time.monotonic() + START_SECONDS
        while text not in self.log():
            assert self.state()["Status"] in ("running", "restarting"), self.log()
            assert time.monotonic() < deadline, f"never printed {text!r}:\n{self.log()}"
            time.sleep(0.1)

    def port(self) -> int:
        """The port of this machine at which its HTTP is."""
        return int(docker("port", self.id, "8000").stdout.rpartition(":")[2])

    def stop(self, seconds: int) -> float:
        """Ask it to stop, to be killed after so many seconds; returns how many it took."""
        began = time.monotonic()
        docker("stop", "--time", str(seconds), self.id)
        return time.monotonic() - began
