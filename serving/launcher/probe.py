"""Questions to a running server over HTTP: is it ready, and does it translate?"""

from __future__ import annotations

import http.client
import json
import threading

from serving.launcher.preflight import ENSEMBLE

PROBE_TEXT = "Hello."
OVERLOADED = "overloaded"
"""The word in every answer that turns a request away for want of room."""
CONNECT_TIMEOUT_SECONDS = 2.0
CANARY_TIMEOUT_SECONDS = 600.0


def is_ready(address: str, port: int) -> bool:
    """Return whether the server says that the `translate` model is ready."""
    try:
        path = f"/v2/models/{ENSEMBLE}/ready"
        return _request("GET", (address, port), path, None, CONNECT_TIMEOUT_SECONDS)[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def canary_fault(address: str, port: int, timeout: float) -> str | None:
    """Ask for a translation; returns why there was none, or None where the server is well.

    A server can say that it is ready when its models are dead; an answer proves the whole way.
    One that has too much to do, and says so, is well too: starting it anew would help nobody.

    Args:
        address: host name or address.
        port: of HTTP.
        timeout: seconds without an answer that count as a fault.
    """
    body = json.dumps({"text": PROBE_TEXT}).encode()
    path = f"/v2/models/{ENSEMBLE}/generate"
    try:
        status, answer = _request("POST", (address, port), path, body, timeout)
    except TimeoutError:
        return f"no answer within {timeout:g} s"
    except (OSError, http.client.HTTPException) as error:
        return str(error) or type(error).__name__
    text = answer.decode(errors="replace")
    is_overloaded = status == http.client.SERVICE_UNAVAILABLE and OVERLOADED in text
    is_translated = status == http.client.OK and '"translation":"' in text
    return None if is_translated or is_overloaded else f"HTTP {status}: {text}"


class Canary(threading.Thread):
    """One translation, asked for in the background once it is started.

    Attributes:
        fault: why there was no translation; None where there was one, or none yet.
    """

    def __init__(self, address: str, port: int) -> None:
        super().__init__(daemon=True)
        self.fault: str | None = None
        self._place = (address, port)

    def run(self) -> None:
        """Ask, and note the fault."""
        self.fault = canary_fault(*self._place, CANARY_TIMEOUT_SECONDS)


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
