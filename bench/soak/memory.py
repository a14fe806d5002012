"""Memory of processes over time, and whether it stays what it is."""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

ALLOWED = 0.03
"""Share by which memory may stray from its median."""

HOUR = 3600.0


@dataclasses.dataclass(frozen=True)
class Memory:
    """A process's memory in MiB.

    Attributes:
        resident: all of its pages in memory. What is judged: other processes do not change it.
        proportional: each shared page divided by the processes that share it; adds up.
        private: pages of this process alone.
    """

    resident: float
    proportional: float
    private: float

    @classmethod
    def of(cls, pid: int) -> Memory:
        """Of a process, now; OSError where there is none."""
        kib = dict.fromkeys(("Rss", "Pss", "Private_Clean", "Private_Dirty"), 0)
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()[1:]:
            name, _, value = line.partition(":")
            if name in kib:
                kib[name] = int(value.split()[0])
        private = kib["Private_Clean"] + kib["Private_Dirty"]
        return cls(kib["Rss"] / 1024, kib["Pss"] / 1024, private / 1024)


@dataclasses.dataclass(frozen=True)
class Sample:
    """All processes' memory by name, so many seconds from the start."""

    seconds: float
    processes: Mapping[str, Memory]


@dataclasses.dataclass(frozen=True)
class Trend:
    """What one process's resident memory did after it had settled.

    Attributes:
        name: of the process.
        median: MiB.
        stray: the largest distance of a sample from the median, as a share of it.
        growth_per_hour: slope of a straight line through the samples, as a share of the median.
        samples: how many; fewer than were taken where the process was gone for some.
    """

    name: str
    median: float
    stray: float
    growth_per_hour: float
    samples: int

    @property
    def flat(self) -> bool:
        """Whether it stayed what it was."""
        return self.stray <= ALLOWED


def trends(samples: Sequence[Sample], settle_seconds: float) -> list[Trend]:
    """Of each process; samples before `settle_seconds` are left out."""
    settled = [sample for sample in samples if sample.seconds >= settle_seconds]
    names = dict.fromkeys(name for sample in settled for name in sample.processes)
    return [_trend(name, settled) for name in names]


def _trend(name: str, samples: Sequence[Sample]) -> Trend:
    points = [(s.seconds, s.processes[name].resident) for s in samples if name in s.processes]
    seconds, values = (np.array(column) for column in zip(*points, strict=True))
    median = statistics.median(values.tolist())
    slope = float(np.polyfit(seconds, values, 1)[0]) if len(points) > 1 else 0.0
    return Trend(
        name=name,
        median=median,
        stray=float(np.abs(values / median - 1).max()),
        growth_per_hour=slope * HOUR / median,
        samples=len(points),
    )


class Sampler:
    """Takes samples in the background while it is entered."""

    def __init__(self, processes: Callable[[], Mapping[str, int]], interval: float) -> None:
        """Ask `processes` for names and ids at each sample; `interval` is in seconds."""
        self.samples: list[Sample] = []
        self._processes = processes
        self._interval = interval
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        began = time.monotonic()
        while True:
            found: dict[str, Memory] = {}
            for name, pid in self._processes().items():
                with contextlib.suppress(OSError):  # it ended just now
                    found[name] = Memory.of(pid)
            self.samples.append(Sample(time.monotonic() - began, found))
            due = began + len(self.samples) * self._interval
            if self._over.wait(max(0.0, due - time.monotonic())):
                return
