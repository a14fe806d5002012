"""Ends a model's process whose engine is stuck or dead, so that nobody waits for it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from serving.errors import DragomanError, EngineError

log = logging.getLogger(__name__)


class Watched(Protocol):
    """What it needs of a scheduler; see `serving.scheduler.Scheduler`."""

    def busy_seconds(self) -> float:
        """How long the slowest worker has been in its turn."""
        ...

    def failure(self) -> DragomanError | None:
        """Why no request can succeed any more."""
        ...

    def fail(self, error: DragomanError) -> None:
        """Refuse new requests and end all open ones with an error."""
        ...


class Watchdog:
    """Looks at a scheduler whenever it is asked to."""

    def __init__(self, scheduler: Watched, stall: float, end: Callable[[], object]) -> None:
        """Args: what to watch, the seconds after which a turn is stuck, what ends the process."""
        self._scheduler, self._stall, self._end = scheduler, stall, end

    def check(self) -> None:
        """End all where the engine is stuck or dead: requests with an error, then the process.

        Triton then refuses the model's requests, and the launcher, which sees the process gone,
        loads the model anew.
        """
        failure = self._scheduler.failure()
        busy = self._scheduler.busy_seconds()
        if failure is None and busy > self._stall:
            failure = EngineError(f"the engine is stuck: a step has taken {busy:.0f} s")
        if failure is not None:
            log.critical("%s; this process ends, so that the model is loaded anew", failure)
            self._scheduler.fail(failure)
            self._end()
