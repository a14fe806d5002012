"""A contestant's server while it is up and warm."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tritonclient.grpc as grpc
from tqdm import tqdm

from bench.served.client import Contestant, Ids, Inputs, hypothesis, measure
from bench.served.results import Point
from bench.served.server import MODEL, launched
from serving.load.arrivals import poisson
from serving.load.search import highest_rate


@dataclasses.dataclass(frozen=True)
class WarmUp:
    """Load that is not counted: sentences a second, and for how many seconds."""

    rate: float
    seconds: float


class Session:
    """Puts load on a server; each window moves `bar` on."""

    def __init__(
        self, address: str, requests: Sequence[Inputs], limit: float, bar: tqdm[Any]
    ) -> None:
        self.address = address
        self._requests = requests
        self._limit = limit
        self._bar = bar

    def point(self, rate: float, seconds: float, seed: int, stop_when_lost: bool = False) -> Point:
        """One window; with `stop_when_lost` it ends once it cannot hold the limit any more."""
        self._bar.set_postfix_str(f"{rate:.1f}/s")
        arrivals = poisson(rate, seconds, len(self._requests), seed)
        limit = self._limit if stop_when_lost else math.inf
        window = measure(self.address, self._requests, arrivals, limit)
        self._bar.update()
        return Point.of(window, rate, self._limit)

    def highest_rate(
        self, start: float, factor: float, tolerance: float, seconds: float, seed: int
    ) -> tuple[float, list[Point]]:
        """Sentences a second that hold the limit at most, and all that was tried."""
        tried: list[Point] = []

        def holds(rate: float) -> bool:
            tried.append(self.point(rate, seconds, seed + len(tried), stop_when_lost=True))
            return tried[-1].holds

        return highest_rate(holds, start, factor, tolerance), tried

    def translations(self, count: int) -> list[list[int]]:
        """Of the first `count` sentences, one after another."""
        with grpc.InferenceServerClient(self.address) as client:
            return [hypothesis(client.infer(MODEL, inputs)) for inputs in self._requests[:count]]


@contextlib.contextmanager
def session(
    contestant: Contestant,
    sentences: Sequence[Ids],
    limit: float,
    warm_up: WarmUp,
    log_file: Path,
    bar: tqdm[Any],
) -> Iterator[Session]:
    """Launch the contestant's server, warm it up, and stop it at the end.

    Args:
        contestant: whose repository to serve.
        sentences: ids of each that may be sent.
        limit: milliseconds for the 95th percentile.
        warm_up: load before it is handed over.
        log_file: to append the server's log to.
        bar: of windows done.
    """
    requests = [contestant.inputs(ids) for ids in sentences]
    with launched(contestant.repository, log_file) as address:
        found = Session(address, requests, limit, bar)
        found.point(warm_up.rate, warm_up.seconds, seed=0, stop_when_lost=True)
        yield found
