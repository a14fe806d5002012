"""An open loop: requests leave at their arrival times, whatever became of those before them.

A latency counts from the time at which a request was due, not from when it was sent, so a server
that stalls, or a generator that falls behind, shows in every request of that time (no coordinated
omission).
"""

from __future__ import annotations

import asyncio
import math
import time

from serving.load.arrivals import Arrivals
from serving.load.sending import CpuMeter, Send, attempt
from serving.load.window import LATE_SHARE, Outcome, Window


async def run_open_loop(send: Send, arrivals: Arrivals, limit: float = math.inf) -> Window:
    """Send all, wait for all answers, and tell how it went.

    Args:
        send: sends one request.
        arrivals: when to send which.
        limit: milliseconds; sending stops once more than 5 % of all requests took longer.
    """
    run = _Run(send, arrivals, limit)
    meter, began = CpuMeter(), time.perf_counter()
    finished = await run.send_all()
    seconds, backlog = time.perf_counter() - began, run.backlog()
    await run.drain()
    return Window(
        seconds=arrivals.seconds if finished else seconds,
        outcomes=run.outcomes,
        rate=arrivals.rate,
        backlog=backlog,
        gave_up=not finished,
        lag=run.lag,
        cores=meter.cores(),
    )


class _Run:
    """One window as it goes."""

    def __init__(self, send: Send, arrivals: Arrivals, limit: float) -> None:
        self._send = send
        self._arrivals = arrivals
        self._limit = limit
        self._allowed = LATE_SHARE * len(arrivals.due)
        self._late = 0  # among the answered
        self._waiting: dict[int, float] = {}  # number of an arrival -> when due, in this order
        self._tasks: set[asyncio.Task[None]] = set()
        self.outcomes: list[Outcome] = []
        self.lag = 0.0

    async def send_all(self) -> bool:
        """Send each request when it is due; False where it was no use to go on."""
        began = time.perf_counter()
        pairs = zip(self._arrivals.due.tolist(), self._arrivals.request.tolist(), strict=True)
        for number, (offset, request) in enumerate(pairs):
            due = began + offset
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            now = time.perf_counter()
            if self._is_lost(now):
                return False
            self.lag = max(self.lag, 1000 * (now - due))
            self._waiting[number] = due
            task = asyncio.create_task(self._one(number, request, due, began))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        await asyncio.sleep(max(0.0, began + self._arrivals.seconds - time.perf_counter()))
        return True

    def backlog(self) -> int:
        """Requests without an answer so far."""
        return len(self._waiting)

    async def drain(self) -> None:
        """Wait for the answers."""
        await asyncio.gather(*self._tasks)

    def _is_lost(self, now: float) -> bool:
        late = self._late
        for due in self._waiting.values():
            if 1000 * (now - due) <= self._limit:
                break
            late += 1
        return late > self._allowed

    async def _one(self, number: int, request: int, due: float, began: float) -> None:
        outcome = await attempt(self._send, request, due, began)
        del self._waiting[number]
        self._late += (math.inf if outcome.failure else outcome.latency) > self._limit
        self.outcomes.append(outcome)
