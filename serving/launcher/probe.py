"""Questions to a running server over HTTP: is it ready, and does it translate?"""

from __future__ import annotations

import json
import re
import threading
import time

from serving.launcher.endpoint import FAULTS, Endpoint
from serving.launcher.preflight import ENSEMBLE

PROBE_TEXT = "Hello."
CONNECT_TIMEOUT_SECONDS = 2.0
CANARY_TIMEOUT_SECONDS = 600.0
BUSY_PAUSE_SECONDS = 0.2
# A server that is asked too much at once refuses; it is alive, and may translate the next time.
_BUSY = re.compile(r"\b(overloaded|deadline): ")


def is_ready(endpoint: Endpoint) -> bool:
    """Return whether the server says that the `translate` model is ready."""
    try:
        path = f"/v2/models/{ENSEMBLE}/ready"
        return endpoint.request("GET", path, CONNECT_TIMEOUT_SECONDS)[0] == 200
    except FAULTS:
        return False


class Canary(threading.Thread):
    """One translation by an ensemble, asked for in the background once it is started.

    A server can say that it is ready when its models are dead; an answer proves the whole way.
    While the server refuses for want of room, the canary asks again, `timeout` seconds in all.

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
        self._endpoint = endpoint
        self._path = f"/v2/models/{ensemble}/generate"
        self._timeout = timeout

    def run(self) -> None:
        """Ask, and note the fault."""
        deadline = time.monotonic() + self._timeout
        while True:
            fault = self._ask(max(deadline - time.monotonic(), 0.1))
            is_busy = fault is not None and _BUSY.search(fault) is not None
            if not is_busy or time.monotonic() + BUSY_PAUSE_SECONDS > deadline:
                self.fault = fault
                return
            time.sleep(BUSY_PAUSE_SECONDS)

    def _ask(self, timeout: float) -> str | None:
        body = json.dumps({"text": PROBE_TEXT}).encode()
        try:
            status, answer = self._endpoint.request("POST", self._path, timeout, body)
        except FAULTS as error:
            return str(error) or type(error).__name__
        return None if status == 200 else answer.decode(errors="replace")
