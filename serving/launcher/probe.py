"""Questions to a running server over HTTP: is it ready, and does it translate?"""

from __future__ import annotations

import json
import re
import threading
import time

from serving.errors import DEADLINE, OVERLOADED
from serving.launcher.endpoint import FAULTS, Endpoint
from serving.launcher.preflight import ENSEMBLE

PROBE_TEXT = "Hello."
CONNECT_TIMEOUT_SECONDS = 2.0
CANARY_TIMEOUT_SECONDS = 600.0
BUSY_PAUSE_SECONDS = 0.2
_OVERLOADED = re.compile(rf"\b{OVERLOADED}|Exceeds maximum queue size|Request timeout expired")
_LATE = re.compile(rf"\b{DEADLINE}")


def is_ready(endpoint: Endpoint) -> bool:
    """Return whether the server says that the `translate` model is ready."""
    try:
        path = f"/v2/models/{ENSEMBLE}/ready"
        return endpoint.request("GET", path, CONNECT_TIMEOUT_SECONDS)[0] == 200
    except FAULTS:
        return False


def canary_fault(endpoint: Endpoint, timeout: float, ensemble: str = ENSEMBLE) -> str | None:
    """Ask for a translation; returns why there was none.

    A server can say that it is ready when its models are dead; an answer proves the whole way.

    Args:
        endpoint: of HTTP.
        timeout: seconds without an answer that count as a fault.
        ensemble: that translates.
    """
    body = json.dumps({"text": PROBE_TEXT}).encode()
    path = f"/v2/models/{ensemble}/generate"
    try:
        status, answer = endpoint.request("POST", path, timeout, body)
    except TimeoutError:
        return f"no answer within {timeout:g} s"
    except FAULTS as error:
        return str(error) or type(error).__name__
    text = answer.decode(errors="replace")
    is_translated = status == 200 and '"translation":"' in text
    return None if is_translated else f"HTTP {status}: {text}"


def is_overload(fault: str) -> bool:
    """Whether the server was well, but had too much to do: starting it anew would help nobody."""
    return _OVERLOADED.search(fault) is not None


class Canary(threading.Thread):
    """One translation by an ensemble, asked for in the background once it is started.

    While the server has too much to do, the canary asks again, `timeout` seconds in all.

    Attributes:
        fault: why there was no translation; None where there was one, or none yet.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        ensemble: str = ENSEMBLE,
        timeout: float = CANARY_TIMEOUT_SECONDS,
    ) -> None:
        super().__init__(daemon=True)
        self.fault: str | None = None
        self._endpoint, self._ensemble, self._timeout = endpoint, ensemble, timeout

    def run(self) -> None:
        """Ask, and note the fault."""
        deadline = time.monotonic() + self._timeout
        while True:
            left = max(deadline - time.monotonic(), 0.1)
            fault = canary_fault(self._endpoint, left, self._ensemble)
            is_busy = fault is not None and (is_overload(fault) or _LATE.search(fault) is not None)
            if not is_busy or time.monotonic() + BUSY_PAUSE_SECONDS > deadline:
                self.fault = fault
                return
            time.sleep(BUSY_PAUSE_SECONDS)
