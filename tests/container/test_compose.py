"""`docker compose up`: healthy, translating over both protocols, watched, and gone without a trace.

Only the translator is brought up: Prometheus's and Grafana's images cannot be had everywhere.
Debian's Prometheus takes the place of the first.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc

from bench.served.server import free_ports
from serving import cli
from tests.container.docker import docker, post
from tests.container.watching import Watching
from tests.monitoring import (
    GPU_METRICS,
    TRANSLATOR_METRICS,
    alert_queries,
    metrics_of,
    panel_queries,
)

PROJECT = "dragoman-test"
FILES = ("--file", "docker-compose.yml", "--file", "docker-compose.gpu.yml")


class Stack:
    """The composed translator under ports of its own."""

    healthy_after: float
    """Seconds from `docker compose up`, the image being built."""

    def __init__(self) -> None:
        self.http, self.grpc, self.metrics = free_ports(3)
        self._environment = {
            "COMPOSE_PROJECT_NAME": PROJECT,
            "HTTP_PORT": str(self.http),
            "GRPC_PORT": str(self.grpc),
            "METRICS_PORT": str(self.metrics),
        }

    def compose(self, *arguments: str) -> str:
        """Run docker compose; returns what it prints."""
        return docker("compose", *arguments, environment=self._environment).stdout


@pytest.fixture(scope="module")
def stack(cpu_image: str) -> Iterator[Stack]:
    """The translator, up and healthy; down again afterwards."""
    stack = Stack()
    began = time.monotonic()
    try:
        stack.compose("up", "--build", "--detach", "--wait", "translator")
        stack.healthy_after = time.monotonic() - began
        yield stack
    finally:
        stack.compose("down", "--volumes", "--timeout", "45")


def left_over() -> str:
    """Whatever of the project Docker still has."""
    label = f"label=com.docker.compose.project={PROJECT}"
    lists = (("ps", "--all"), ("network", "ls"), ("volume", "ls"))
    return "".join(docker(*words, "--quiet", "--filter", label).stdout for words in lists)


def test_it_is_healthy_by_a_canary_translation(
    stack: Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        ready = re.findall("ready after .*", stack.compose("logs", "translator"))[0]
        print(f"\ndragoman: {ready}; healthy {stack.healthy_after:.1f} s after docker compose up")
    (container,) = json_lines(stack.compose("ps", "--format", "json"))
    assert container["Health"] == "healthy"
    health = json.loads(
        docker("inspect", "--format", "{{json .State.Health}}", container["ID"]).stdout
    )
    assert "is well, answered after" in health["Log"][-1]["Output"]


def test_it_can_be_reached_from_this_machine_alone(stack: Stack) -> None:
    (container,) = json_lines(stack.compose("ps", "--format", "json"))
    published = {port["URL"] for port in container["Publishers"]}
    assert published == {"127.0.0.1"}


def test_http_and_grpc_give_the_same_translation(stack: Stack) -> None:
    status, answer = post(stack.http, {"text": "Where is the station?", "beam_size": 5})
    assert status == 200
    client = tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{stack.grpc}")
    text = tritonclient.grpc.InferInput("text", [1], "BYTES")
    text.set_data_from_numpy(np.array([b"Where is the station?"], dtype=object))
    result = client.infer("translate", [text], parameters={"beam_size": 5})
    assert result.as_numpy("translation")[0].decode() == answer["translation"] != ""


def test_the_command_line_translates_and_asks_for_its_health(
    stack: Stack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["health", "--http-port", str(stack.http)]) == 0
    file = tmp_path / "text.txt"
    file.write_text("Good morning.\n")
    assert cli.main(["translate", str(file), "--server", f"127.0.0.1:{stack.grpc}"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_prometheus_sees_what_dashboard_and_alerts_ask_for(stack: Stack, tmp_path: Path) -> None:
    with Watching(tmp_path, stack.metrics) as prometheus:
        deadline = time.monotonic() + 30
        while prometheus.targets() != {"translator": "up", "prometheus": "up"}:
            assert time.monotonic() < deadline, prometheus.targets()
            time.sleep(0.2)
        for _ in range(3):  # counters must be seen growing
            assert post(stack.http, {"text": ["Good morning.", "Thank you."]})[0] == 200
            assert post(stack.http, {"text": "Good morning.", "beam_size": 99})[0] != 200
            time.sleep(1.1)
        prometheus.wait_for('rate(nv_inference_request_success{model="translate"}[1m]) > 0')

        empty = {name for name, query in panel_queries().items() if not prometheus.series(query)}
        for query in alert_queries().values():
            prometheus.series(query)
        rules = prometheus.get("rules")["groups"][0]["rules"]
        there = set(prometheus.get("label/__name__/values"))

    asked = panel_queries()
    unexplained = {n for n in empty if not metrics_of(asked[n]) & GPU_METRICS}
    assert unexplained == set()
    assert there >= TRANSLATOR_METRICS
    assert {rule["name"] for rule in rules} == set(alert_queries())
    assert {rule["health"] for rule in rules} == {"ok"}
    firing = {rule["name"] for rule in rules if rule["state"] == "firing"}
    assert firing <= {"TranslatorRestarted"}


@pytest.mark.parametrize("files", [FILES[:2], FILES], ids=["cpu", "gpu"])
def test_compose_files_are_valid_with_and_without_the_example_of_knobs(
    files: tuple[str, ...],
) -> None:
    plain = json.loads(docker("compose", *files, "config", "--format", "json").stdout)
    known = docker("compose", "--env-file", ".env.example", *files, "config", "--format", "json")
    assert set(plain["services"]) == {"translator", "prometheus", "grafana"}
    assert json.loads(known.stdout) == plain, ".env.example must hold the defaults"


def test_down_leaves_nothing(stack: Stack) -> None:
    assert left_over()
    stack.compose("down", "--volumes", "--timeout", "45")
    assert left_over() == ""


def json_lines(text: str) -> list[dict[str, Any]]:
    """One JSON value a line."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]
