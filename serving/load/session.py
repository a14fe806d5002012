"""Load on one server over one protocol, window by window."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import math
from collections.abc import Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from tqdm import tqdm

from serving.errors import DragomanError
from serving.load.arrivals import poisson
from serving.load.closed_loop import run_closed_loop
from serving.load.counters import Counters
from serving.load.failures import Kind, failure_of
from serving.load.measurement import Measurement
from serving.load.open_loop import run_open_loop
from serving.load.requests import TextRequest
from serving.load.sender import Protocol, Sender
from serving.load.window import Window
from serving.request_options import Options

OPTION = {Protocol.GRPC: "--server", Protocol.HTTP: "--http"}
"""Of `dragoman load`, that names the address."""


@dataclasses.dataclass(frozen=True)
class Target:
    """A running server, and how it is asked.

    Attributes:
        addresses: host:port of each protocol.
        metrics: host:port of its metrics.
        options: of every request.
        timeout: seconds that a request may take.
        limit: milliseconds for the 95th percentile.
    """

    addresses: Mapping[Protocol, str]
    metrics: str
    options: Options
    timeout: float
    limit: float


class Session:
    """A connection with its event loop; enter it, and every window has the same.

    Windows draw from `requests`; each has a seed of its own, counted on from `seed`.
    """

    def __init__(
        self,
        target: Target,
        protocol: Protocol,
        requests: Sequence[TextRequest],
        seed: int,
        bar: tqdm[Any],
    ) -> None:
        self.protocol = protocol
        self._target = target
        self._requests = requests
        self._seed = seed
        self._bar = bar
        self._runner = asyncio.Runner()
        self._sender: Sender

    def __enter__(self) -> Self:
        self._runner.__enter__()
        self._sender = self._runner.run(self._connect())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._runner.run(self._sender.__aexit__())
        self._runner.__exit__(kind, error, trace)

    def check(self) -> None:
        """Translate one request.

        Raises:
            DragomanError: the server does not, and why.
        """
        address = self._target.addresses[self.protocol]
        try:
            self._runner.run(self._sender.translate(self._requests[0].texts))
        except Exception as error:
            failure = failure_of(error)
            if failure.kind is Kind.CONNECTION:
                raise DragomanError(
                    f"no server answers at {address} ({self.protocol.value}): {failure.message}; "
                    f"start one with dragoman serve, or name it with {OPTION[self.protocol]} "
                    "HOST:PORT"
                ) from error
            raise DragomanError(f"{address} does not translate: {failure.message}") from error

    def closed(self, concurrency: int, seconds: float) -> Measurement:
        """A closed loop of that many clients."""
        self._describe(f"{concurrency} clients")
        loop = run_closed_loop(
            self._send, concurrency, seconds, len(self._requests), self._next_seed()
        )
        return self._measure(loop, seconds, concurrency=concurrency)

    def open(self, rate: float, seconds: float, searching: bool = False) -> Measurement:
        """An open loop of `rate` sentences a second; a search ends it once it is lost."""
        self._describe(f"{rate:.1f} sentences/s")
        requests = rate / len(self._requests[0].texts)
        arrivals = poisson(requests, seconds, len(self._requests), self._next_seed())
        limit = self._target.limit if searching else math.inf
        loop = run_open_loop(self._send, arrivals, limit)
        return self._measure(loop, seconds, searching=searching)

    def _measure(
        self,
        loop: Coroutine[Any, Any, Window],
        seconds: float,
        concurrency: int | None = None,
        searching: bool = False,
    ) -> Measurement:
        before = Counters.scrape(self._target.metrics)
        window = self._runner.run(self._with_bar(loop, seconds))
        after = Counters.scrape(self._target.metrics) if before else None
        return Measurement.of(
            window,
            protocol=self.protocol.value,
            concurrency=concurrency,
            searching=searching,
            texts_per_request=len(self._requests[0].texts),
            limit=self._target.limit,
            moved=after.since(before) if before and after else None,
        )

    async def _with_bar(self, loop: Coroutine[Any, Any, Window], seconds: float) -> Window:
        shown = 0
        # How many windows a search takes, nobody knows before.
        self._bar.total = max(self._bar.total or 0, self._bar.n + int(seconds))

        async def tick() -> None:
            nonlocal shown
            while shown < int(seconds):
                await asyncio.sleep(1)
                shown += 1
                self._bar.update()

        ticking = asyncio.create_task(tick())
        window = await loop
        ticking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await ticking
        self._bar.update(int(seconds) - shown)
        return window

    def _describe(self, load: str) -> None:
        self._bar.set_description(f"{self.protocol.value}, {load}")

    def _next_seed(self) -> int:
        self._seed += 1
        return self._seed

    async def _connect(self) -> Sender:
        target = self._target
        address = target.addresses[self.protocol]
        return Sender(self.protocol, address, target.options, target.timeout)

    async def _send(self, number: int) -> None:
        await self._sender.send(self._requests[number])
