"""Light questions to the parts of a server, asked again and again in the background."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from typing import Any

from serving.launcher.endpoint import FAULTS, Endpoint
from serving.launcher.served_model import Interface
from serving.ping import PING_ID

PING_SECONDS = 0.5
LIVE_SECONDS = 0.2

_EMPTY = {"shape": [1], "datatype": "INT32", "data": [0]}
_NONE = {"shape": [1], "datatype": "INT32", "data": [0]}
_BLANK = {"shape": [1], "datatype": "BYTES", "data": [""]}
# An empty sentence, which each model answers by itself: no engine is needed.
_INPUTS: dict[Interface, dict[str, dict[str, Any]]] = {
    Interface.PREPROCESS: {"text": _BLANK},
    Interface.TRANSLATOR: {"ids": _EMPTY, "lengths": _NONE},
    Interface.POSTPROCESS: {"hypothesis_ids": _EMPTY, "hypothesis_lengths": _NONE},
}
_STREAMED = json.dumps({"id": PING_ID, "text": ""}).encode()


class Pinger(threading.Thread):
    """Asks one question after the other, each once the last is answered.

    Attributes:
        question: the number of the question that is unanswered now, None where there is none.
        answers: how many questions were answered, be it with an error.
    """

    def __init__(
        self, endpoint: Endpoint, method: str, path: str, body: bytes | None, pause: float
    ) -> None:
        super().__init__(daemon=True)
        self.question: int | None = None
        self.answers = 0
        self._asked = 0
        self._request = (method, path, body)
        self._pause = pause
        self._closed = threading.Event()
        # Kept open: a new one for each question would leave hundreds behind in the kernel.
        self._connection = http.client.HTTPConnection(endpoint.address, endpoint.port)

    def run(self) -> None:
        """Ask until closed."""
        while not self._closed.is_set():
            self._asked += 1
            self.answers += self._ask()
            self.question = None
            self._closed.wait(self._pause)
        self._connection.close()

    def close(self) -> None:
        """Ask no more, and wait for no answer: an open connection would keep a server waiting."""
        self._closed.set()
        connected = self._connection.sock
        if connected is not None:
            with contextlib.suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)

    def _ask(self) -> bool:
        try:
            self._connection.request(*self._request)
            self.question = self._asked
            self._connection.getresponse().read()
        except FAULTS:
            self._connection.close()
            return False
        return True


def server_pinger(endpoint: Endpoint) -> Pinger:
    """Ask the server itself, no model, whether it lives."""
    return Pinger(endpoint, "GET", "/v2/health/live", None, LIVE_SECONDS)


def model_pinger(endpoint: Endpoint, model: str, interface: Interface) -> Pinger:
    """Ask a model of ours to do next to nothing."""
    if interface is Interface.STREAM:
        path = f"/v2/models/{model}/generate_stream"  # the only road to such a model
        return Pinger(endpoint, "POST", path, _STREAMED, PING_SECONDS)
    inputs = [{"name": name, **tensor} for name, tensor in _INPUTS[interface].items()]
    body = json.dumps({"id": PING_ID, "inputs": inputs}).encode()
    return Pinger(endpoint, "POST", f"/v2/models/{model}/infer", body, PING_SECONDS)
