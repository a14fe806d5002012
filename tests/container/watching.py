"""Debian's Prometheus with our configuration, its targets rewritten to this machine."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Self

import pytest

from bench.served.server import free_ports
from tests.monitoring import PROMETHEUS

WAIT_SECONDS = 30.0


class Watching:
    """A Prometheus that watches a translator; ends when the `with` block is left."""

    def __init__(self, folder: Path, metrics_port: int) -> None:
        if shutil.which("prometheus") is None:
            pytest.skip("prometheus is not installed (Debian: prometheus)")
        (self._port,) = free_ports(1)
        configuration = (PROMETHEUS / "prometheus.yml").read_text()
        for ours, here in (
            ("translator:8002", f"127.0.0.1:{metrics_port}"),
            ("localhost:9090", f"127.0.0.1:{self._port}"),
            (r"_interval: 15s", "_interval: 1s"),
        ):
            assert ours in configuration
            configuration = configuration.replace(ours, here)
        (folder / "prometheus.yml").write_text(configuration)
        shutil.copy(PROMETHEUS / "alerts.yml", folder)
        self._log = (folder / "prometheus.log").open("w")
        self._process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={folder}/prometheus.yml",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address=127.0.0.1:{self._port}",
            ],
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.terminate()
        self._process.wait(WAIT_SECONDS)
        self._log.close()

    def get(self, path: str, **parameters: str) -> Any:
        """The data of an answer of Prometheus's interface."""
        query = urllib.parse.urlencode(parameters)
        url = f"http://127.0.0.1:{self._port}/api/v1/{path}?{query}"
        with urllib.request.urlopen(url, timeout=WAIT_SECONDS) as response:
            answer = json.load(response)
        assert answer["status"] == "success", answer
        return answer["data"]

    def targets(self) -> dict[str, str]:
        """The health of each target by its job."""
        try:
            found = self.get("targets")["activeTargets"]
        except OSError:
            return {}
        return {target["labels"]["job"]: target["health"] for target in found}

    def series(self, query: str) -> list[Any]:
        """What a query finds now.

        A query that Prometheus refuses raises HTTPError.
        """
        found: list[Any] = self.get("query", query=query)["result"]
        return found

    def wait_for(self, query: str) -> None:
        """Return once a query finds something."""
        deadline = time.monotonic() + WAIT_SECONDS
        while not self.series(query):
            assert time.monotonic() < deadline, f"never found: {query}"
            time.sleep(0.5)
