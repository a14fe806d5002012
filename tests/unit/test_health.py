"""`dragoman health`: what counts as well, and that a probe starts fast."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from serving import cli
from serving.launcher.endpoint import Endpoint
from serving.launcher.probe import canary_fault


@contextmanager
def answering(status: int, body: str, delay: float = 0.0) -> Iterator[int]:
    """A server on this machine that gives every request the same answer; yields its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            time.sleep(delay)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.parametrize(
    ("status", "body", "fault"),
    [
        (200, '{"model_name":"translate","translation":"Hallo."}', None),
        # This Triton answers errors of `generate` with 400, and other ways with other codes.
        (400, '{"error":"in ensemble ..., overloaded: 1,024 sentences wait before it"}', None),
        (503, '{"error":"in ensemble ..., Exceeds maximum queue size"}', None),
        (503, '{"error":"Server is not ready"}', "HTTP 503: "),
        (400, '{"error":"Stub process is not healthy"}', "Stub process is not healthy"),
        (200, "<html>another program</html>", "another program"),
    ],
)
def test_what_counts_as_well(
    status: int, body: str, fault: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(status, body) as port:
        code = cli.main(["health", "--http-port", str(port)])
    (line,) = capsys.readouterr().out.splitlines()
    assert code == (0 if fault is None else 1)
    assert (fault or "is well") in line


def test_an_answer_that_is_late_is_none() -> None:
    with answering(200, '{"translation":"Hallo."}', delay=2) as port:
        assert canary_fault(Endpoint("127.0.0.1", port), timeout=0.1) == "no answer within 0.1 s"


def test_no_server_is_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["health", "--http-port", "1"]) == 1
    assert "127.0.0.1:1 is not well" in capsys.readouterr().out


def test_a_probe_loads_nothing_that_is_slow_to_load() -> None:
    program = (
        "import sys; from serving import cli; cli.main(['health', '--http-port', '1']);"
        "assert not {'numpy', 'onnxruntime', 'sentencepiece', 'tqdm'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
