"""One request on its way, and what it costs to generate load."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from serving.load.failures import Failure, failure_of
from serving.load.window import Outcome

Send = Callable[[int], Awaitable[object]]
"""Sends request number i and returns when its answer is there; raises where there is none."""


async def attempt(send: Send, request: int, due: float, began: float) -> Outcome:
    """Send a request and wait for what becomes of it.

    Args:
        send: sends it.
        request: its number.
        due: when it was to be sent, by `time.perf_counter`.
        began: when the load did.
    """
    failure: Failure | None = None
    try:
        await send(request)
    except Exception as error:  # whatever the client raises: there is no answer
        failure = failure_of(error)
    return Outcome(due - began, 1000 * (time.perf_counter() - due), failure)


class CpuMeter:
    """Measures the cores that this process uses from now on."""

    def __init__(self) -> None:
        self._began, self._used = time.perf_counter(), time.process_time()

    def cores(self) -> float:
        """CPU seconds in a second, on average until now."""
        used = time.process_time() - self._used
        return used / (time.perf_counter() - self._began)
