"""Short requests alone, and while a text of a megabyte is translated."""

from __future__ import annotations

import dataclasses
import itertools
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bench.soak.memory import Memory
from serving.client import Client

HURRY_SECONDS = 0.5
"""Between two looks at the processes' memory."""


@dataclasses.dataclass(frozen=True)
class Beside:
    """What was seen of short requests and of the long one.

    Attributes:
        alone: seconds of each short request while nothing else went on.
        beside: the same while the long text was translated.
        long_seconds: that it took.
        characters: of it.
        memory: most MiB of each process before and while it was translated.
        lines_kept: whether its translation has as many lines.
    """

    alone: list[float]
    beside: list[float]
    long_seconds: float
    characters: int
    memory: Mapping[str, tuple[float, float]]
    lines_kept: bool

    @property
    def ratio(self) -> float:
        """By how much the 95th percentile of the short ones grows."""
        return p95(self.beside) / p95(self.alone)


def p95(seconds: Sequence[float]) -> float:
    """The 95th percentile."""
    return float(np.percentile(seconds, 95))


class Short:
    """Clients that ask for one sentence after another, with pauses, until they are stopped."""

    def __init__(self, address: str, lines: Sequence[str], clients: int, rate: float) -> None:
        self.seconds: list[tuple[float, float]] = []
        self._address, self._lines = address, itertools.cycle(lines)
        self._pause = clients / rate
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(clients)]

    def __enter__(self) -> Short:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def between(self, first: float, last: float) -> list[float]:
        """Seconds of the requests that began then, on time.perf_counter's clock."""
        return [seconds for began, seconds in self.seconds if first <= began <= last]

    def _ask(self) -> None:
        with Client(self._address) as client:
            due = time.perf_counter()
            while not self._over.is_set():
                began = time.perf_counter()
                client.translate(next(self._lines))
                self.seconds.append((began, time.perf_counter() - began))
                due = max(due + self._pause, time.perf_counter())
                self._over.wait(due - time.perf_counter())


def measure_beside(
    address: str,
    text: str,
    short: Short,
    alone_seconds: float,
    processes: Callable[[], Mapping[str, int]],
) -> Beside:
    """Let short requests go on for a while, then send the long text beside them."""
    with short, Client(address, timeout=3600) as client:
        start = time.perf_counter()
        before = _highest(processes, lambda: time.perf_counter() - start > alone_seconds)
        found: list[str] = []
        long = threading.Thread(target=lambda: found.append(client.translate(text).translation))
        began = time.perf_counter()
        long.start()
        while_ = _highest(processes, lambda: not long.is_alive())
        ended = time.perf_counter()
    memory = {name: (before.get(name, 0.0), most) for name, most in while_.items()}
    return Beside(
        short.between(start, began),
        short.between(began, ended),
        ended - began,
        len(text),
        memory,
        bool(found) and found[0].count("\n") == text.count("\n"),
    )


def _highest(
    processes: Callable[[], Mapping[str, int]], over: Callable[[], bool]
) -> dict[str, float]:
    """Most resident MiB of each process until `over` is true."""
    most: dict[str, float] = {}
    while not over():
        for name, pid in processes().items():
            most[name] = max(most.get(name, 0.0), Memory.of(pid).resident)
        time.sleep(HURRY_SECONDS)
    return most
