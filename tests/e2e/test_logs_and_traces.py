"""Logs in JSON and traces for OpenTelemetry, by a real server and a receiver of our own."""

from __future__ import annotations

import http.client
import http.server
import json
import os
import signal
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.launched import REPOSITORY, LaunchedServer, run_serve, wait_until

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
"""The trace that a client's request belongs to."""


class Receiver(http.server.ThreadingHTTPServer):
    """Takes what OTLP/HTTP exporters send in JSON."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.spans: list[dict[str, Any]] = []
        self.services: set[str] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/traces"

    def take(self, body: dict[str, Any]) -> None:
        for resource in body["resourceSpans"]:
            for attribute in resource["resource"]["attributes"]:
                if attribute["key"] == "service.name":
                    self.services.add(attribute["value"]["stringValue"])
            for scope in resource["scopeSpans"]:
                self.spans.extend(scope["spans"])


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        self.server.take(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def test_everything_is_json_and_a_request_is_traced(tmp_path: Path, receiver: Receiver) -> None:
    log = tmp_path / "server.log"
    options = ["--log-format=json", f"--trace-otlp={receiver.url}", "--trace-rate=1"]
    with LaunchedServer(REPOSITORY, log, *options) as server:
        server.translate("Good morning.")
        ask_within_a_trace(server)
        os.kill(server.process_of("preprocess"), signal.SIGKILL)
        wait_until(lambda: "translates again" in server.output(), "recovery")
        # Triton sends every 5 seconds.
        wait_until(lambda: TRACE in {span["traceId"] for span in receiver.spans}, "spans")
        assert server.stop(signal.SIGTERM) == 0
        shown = [json.loads(line) for line in server.output().splitlines()]
    written = [json.loads(line) for line in log.read_text().splitlines()]
    for record in [*shown, *written]:
        assert datetime.fromisoformat(record["time"]).utcoffset() is not None
        assert record["level"] in ("info", "warning", "error", "fatal")
        assert record["source"]
        assert record["message"]
    own = [record for record in shown if record["source"] == "launcher"]
    assert [record.get("event") for record in own] == [
        None,
        "ready",
        "fault",
        "recovered",
        None,
        None,
    ]
    assert own[1]["http"] == f"http://127.0.0.1:{server.http_port}"
    assert (own[3]["model"], own[3]["action"]) == ("preprocess", "reload")
    assert own[3]["seconds"] > 0
    assert any("Started HTTPService" in record["message"] for record in written)
    assert not any("Started HTTPService" in record["message"] for record in shown)
    check_traces(receiver)


def ask_within_a_trace(server: LaunchedServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port)
    headers = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
    body = b'{"text": "Good morning."}'
    connection.request("POST", "/v2/models/translate/generate", body, headers)
    assert connection.getresponse().status == 200
    connection.close()


def check_traces(receiver: Receiver) -> None:
    """Two requests by us and one canary after each start of a model; no questions of its own."""
    assert receiver.services == {"dragoman"}
    names = [span["name"] for span in receiver.spans]
    for name in ("translate", "preprocess", "translator", "postprocess"):
        assert 2 <= names.count(name) <= 5, names
    parts = {span["name"] for span in receiver.spans if span["traceId"] == TRACE}
    assert {"translate", "preprocess", "translator", "postprocess"} <= parts


def test_a_failure_in_json_is_a_record_too() -> None:
    result = run_serve("nowhere", "--log-format=json")
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    record = json.loads(line)
    assert (record["level"], record["event"]) == ("error", "failed")
    assert "no model repository at nowhere" in record["message"]
