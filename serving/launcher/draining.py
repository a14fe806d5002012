"""Whether a server that is stopping has anything left to answer.

Triton 2.51 waits its whole exit timeout where no answer can come any more: for requests of a
process that died, for connections that clients keep open, for models that lost their process.
"""

from __future__ import annotations

from collections.abc import Mapping

from serving.launcher.endpoint import Endpoint
from serving.launcher.metrics import OPEN_REQUESTS, WAITING_REQUESTS, Metrics
from serving.launcher.process import ServerProcess
from serving.launcher.served_model import ServedModel
from serving.launcher.vitals import Vitals, vitals_of

READING_POLLS = 3
QUIET_READINGS = 8
"""More than the second that Triton sleeps between the steps of its own stop: let it be first."""
BLIND_READINGS = 16
"""The same, in readings, where the metrics cannot be read."""
SERVER_TICKS = 3
"""CPU time that the server may use between two readings, which cost it some; clock ticks."""


class Quiet:
    """Judges, reading by reading, whether a server does nothing any more."""

    def __init__(self) -> None:
        self._readings = 0
        self._server = 0
        self._models: dict[int, int] = {}

    def observe(self, server: int, models: Mapping[int, int], unanswered: int | None) -> bool:
        """Return whether the server has been quiet for long enough.

        Args:
            server: CPU time of the server, in clock ticks.
            models: the same of each live process of the models.
            unanswered: requests that can still be answered; None where nobody knows.
        """
        is_idle = server - self._server <= SERVER_TICKS and dict(models) == self._models
        self._server, self._models = server, dict(models)
        self._readings = self._readings + 1 if is_idle and not unanswered else 0
        return self._readings >= (BLIND_READINGS if unanswered is None else QUIET_READINGS)


class Draining:
    """Watches a server that is stopping.

    Attributes:
        is_done: whether it was seen to have nothing left to answer.
    """

    def __init__(
        self,
        process: ServerProcess,
        processes: Mapping[str, set[int]],
        models: Mapping[str, ServedModel],
        metrics: Endpoint,
    ) -> None:
        self.is_done = False
        self._process = process
        self._processes = processes
        self._models = models
        self._metrics = metrics
        self._quiet = Quiet()
        self._polls = 0

    def poll(self) -> bool:
        """Return `is_done`; to be asked every `process.POLL_SECONDS`."""
        self._polls += 1
        if self._polls % READING_POLLS == 0 and not self.is_done:
            self.is_done = self._read()
        return self.is_done

    def _read(self) -> bool:
        server = vitals_of(self._process.pid)
        if server is None:
            return False
        vitals = {m: [vitals_of(pid) for pid in pids] for m, pids in self._processes.items()}
        # Whose process is gone or stopped will answer nothing.
        working = {model for model, found in vitals.items() if all(map(_works, found))}
        lost = set(vitals) - working
        ticks = {pid: v.cpu_ticks for pid in self._process.children() if (v := vitals_of(pid))}
        unanswered = self._unanswered(lost)
        return self._quiet.observe(server.cpu_ticks, ticks, unanswered)

    def _unanswered(self, lost: set[str]) -> int | None:
        metrics = Metrics.read(self._metrics)
        if metrics.text is None:
            return None
        names = [name for name in self._models if name not in lost]
        counts = [metrics.of(n, what) for n in names for what in (OPEN_REQUESTS, WAITING_REQUESTS)]
        return sum(count for count in counts if count is not None)


def _works(vitals: Vitals | None) -> bool:
    return vitals is not None and not vitals.is_stopped
