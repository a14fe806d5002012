"""An open loop: requests leave at Poisson arrival times, whatever became of those before them.

A latency counts from the time at which a request was due, not from when it was sent, so a server
that stalls, or a generator that falls behind, shows in every request of that time (no coordinated
omission).
"""

from __future__ import annotations

import asyncio
import dataclasses
import math
import time
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
from numpy.typing import NDArray

LATE_SHARE = 0.05
"""Share of requests that may take longer than the limit: it bounds the 95th percentile."""

Send = Callable[[int], Awaitable[object]]
"""Sends sentence number i and returns when its answer is there; raises where there is none."""


@dataclasses.dataclass(frozen=True)
class Arrivals:
    """When each request is due (N,), in seconds from the start, and its sentence (N,)."""

    rate: float
    seconds: float
    due: NDArray[np.float64]
    sentence: NDArray[np.int64]


def poisson(rate: float, seconds: float, sentences: int, seed: int) -> Arrivals:
    """Independent arrivals of `rate` a second on average, each of a random sentence."""
    random = np.random.default_rng(seed)
    most = int(rate * seconds + 10 * math.sqrt(rate * seconds) + 10)
    due = np.cumsum(random.exponential(1 / rate, most))
    due = due[due < seconds]
    return Arrivals(rate, seconds, due, random.integers(sentences, size=len(due)))


def percentile(latencies: Sequence[float], share: float) -> float:
    """The smallest latency that at least `share` of them do not exceed; NaN where there is none."""
    if not latencies:
        return math.nan
    return sorted(latencies)[max(math.ceil(share * len(latencies)) - 1, 0)]


@dataclasses.dataclass(frozen=True)
class Window:
    """What one stretch of load gave.

    Attributes:
        rate: arrivals a second.
        seconds: during which requests were due.
        latencies: of each request, in milliseconds; infinite for an error.
        errors: requests without an answer.
        backlog: requests still unanswered when the last was due.
        gave_up: sending stopped early, because too many were late for any percentile to mend.
        lag: milliseconds by which the generator sent a request late, at most.
        cores: CPU seconds that the generator used in a second.
    """

    rate: float
    seconds: float
    latencies: Sequence[float]
    errors: int
    backlog: int
    gave_up: bool
    lag: float
    cores: float

    def percentile(self, share: float) -> float:
        """Latency in milliseconds."""
        return percentile(self.latencies, share)

    def holds(self, limit: float) -> bool:
        """Whether the 95th percentile is within `limit` milliseconds, and no queue piles up.

        By Little's law, more than rate x limit unanswered requests (and three standard deviations
        of chance) take longer than the limit on average.
        """
        usual = self.rate * limit / 1000
        piled_up = self.backlog > usual + 3 * math.sqrt(usual)
        return not (self.gave_up or piled_up) and self.percentile(1 - LATE_SHARE) <= limit


class _Run:
    """One window as it goes."""

    def __init__(self, send: Send, arrivals: Arrivals, limit: float) -> None:
        self._send = send
        self._arrivals = arrivals
        self._limit = limit / 1000
        self._allowed = LATE_SHARE * len(arrivals.due)
        self._late = 0  # among the answered
        self._waiting: dict[int, float] = {}  # request -> when it was due, in this order
        self._tasks: list[asyncio.Task[None]] = []
        self.latencies: list[float] = []
        self.errors = 0
        self.lag = 0.0

    async def send_all(self) -> bool:
        """Send each request when it is due; False where it was no use to go on."""
        began = time.perf_counter()
        for index, offset in enumerate(self._arrivals.due.tolist()):
            due = began + offset
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            now = time.perf_counter()
            if self._is_lost(now):
                return False
            self.lag = max(self.lag, 1000 * (now - due))
            self._waiting[index] = due
            self._tasks.append(asyncio.create_task(self._one(index, due)))
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
            if now - due <= self._limit:
                break
            late += 1
        return late > self._allowed

    async def _one(self, index: int, due: float) -> None:
        try:
            await self._send(int(self._arrivals.sentence[index]))
            latency = time.perf_counter() - due
        except Exception:  # whatever the client raises: there is no answer
            self.errors += 1
            latency = math.inf
        del self._waiting[index]
        self._late += latency > self._limit
        self.latencies.append(1000 * latency)


async def run_window(send: Send, arrivals: Arrivals, limit: float = math.inf) -> Window:
    """Send all, wait for all answers, and tell how it went.

    Args:
        send: sends one sentence.
        arrivals: when to send which.
        limit: milliseconds; sending stops once more than 5 % of all requests took longer.
    """
    run = _Run(send, arrivals, limit)
    began, cpu = time.perf_counter(), time.process_time()
    finished = await run.send_all()
    backlog = run.backlog()
    await run.drain()
    elapsed, used = time.perf_counter() - began, time.process_time() - cpu
    return Window(
        rate=arrivals.rate,
        seconds=arrivals.seconds,
        latencies=run.latencies,
        errors=run.errors,
        backlog=backlog,
        gave_up=not finished,
        lag=run.lag,
        cores=used / elapsed,
    )
