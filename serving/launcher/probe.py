"""Questions to a running server over HTTP: is it ready, and does it translate?"""

from __future__ import annotations

import http.client
import json
import threading

from serving.launcher.preflight import ENSEMBLE

PROBE_TEXT = "Hello."
CONNECT_TIMEOUT_SECONDS = 2.0
CANARY_TIMEOUT_SECONDS = 600.0


def is_ready(address: str, port: int) -> bool:
    """Return whether the server says that the `translate` model is ready."""
    try:
        path = f"/v2/models/{ENSEMBLE}/ready"
        return _request("GET", (address, port), path, None, CONNECT_TIMEOUT_SECONDS)[0] == 200
    except (OSError, http.client.HTTPException):
        return False


class Canary(threading.Thread):
    """One translation, asked for in the background once it is started.

    A server can say that it is ready when its models are dead; an answer proves the whole way.

    Attributes:
        fault: why there was no translation; None where there was one, or none yet.
    """

    def __init__(self, address: str, port: int) -> None:
        super().__init__(daemon=True)
        self.fault: str | None = None
        self._place = (address, port)

    def run(self) -> None:
        """Ask, and note the fault."""
        body = json.dumps({"text": PROBE_TEXT}).encode()
        path = f"/v2/models/{ENSEMBLE}/generate"
        try:
            status, answer = _request("POST", self._place, path, body, CANARY_TIMEOUT_SECONDS)
        except (OSError, http.client.HTTPException) as error:
            self.fault = str(error)
            return
        if status != 200:
            self.fault = answer.decode(errors="replace")


def _request(
    method: str, place: tuple[str, int], path: str, body: bytes | None, timeout: float
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(*place, timeout=timeout)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()
