"""A translator with what production needs around it: limits, deadlines, metrics, a watchdog."""

from __future__ import annotations

import collections
import dataclasses
import logging
import os
import threading
import time
from collections.abc import Mapping

from serving.scheduler import Scheduler
from serving.triton.aligning import Aligning
from serving.triton.interface import Request, Triton
from serving.triton.metrics import Ended, TranslatorMetrics
from serving.triton.open_requests import OpenRequest, OpenRequests
from serving.triton.outcome import Outcome
from serving.triton.request_log import log_ended
from serving.triton.settings import (
    DEADLINE,
    LOG_REQUESTS,
    QUEUE,
    STALL,
    positive_setting,
    switch_setting,
)
from serving.triton.translate import Translator
from serving.triton.watchdog import Watchdog

TICK_SECONDS = 0.05
"""How late a deadline is noticed."""

TICKS_TO_PUBLISH = 10

GRACE_SECONDS = 0.2
"""For the last answers to leave a process that ends itself."""

EXIT_STATUS = 70
"""Of such a process: an internal error in sysexits.h."""

log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a translator takes on.

    Attributes:
        queue: most sentences that may wait before a new request's.
        deadline: most seconds that a request may take.
        stall: seconds after which a step that does not end means a broken engine.
        log_requests: whether each request is told in the log.
    """

    queue: int = 1024
    deadline: int = 120
    stall: int = 30
    log_requests: bool = False

    @classmethod
    def of(cls, settings: Mapping[str, str]) -> Limits:
        """Those that the settings name, else the defaults.

        Raises:
            ConfigError: one is no positive number.
        """
        return cls(
            queue=positive_setting(settings, QUEUE, cls.queue),
            deadline=positive_setting(settings, DEADLINE, cls.deadline),
            stall=positive_setting(settings, STALL, cls.stall),
            log_requests=switch_setting(settings, LOG_REQUESTS),
        )


class TranslatorService:
    """Answers requests; a thread of its own keeps watch."""

    def __init__(
        self,
        triton: Triton,
        scheduler: Scheduler,
        aligning: Aligning,
        vocab_size: int,
        limits: Limits,
        model: str,
    ) -> None:
        """Start.

        Args:
            triton: the module `triton_python_backend_utils`.
            scheduler: translates; closed by `close`.
            aligning: gives attention; closed by `close`.
            vocab_size: V.
            limits: of requests.
            model: name of the Triton model, a label of its metrics.
        """
        self._triton, self._scheduler, self._limits, self._model = triton, scheduler, limits, model
        self._aligning = aligning
        self._metrics = TranslatorMetrics(triton, model, limits.queue)
        self._open = OpenRequests(self._metrics.show_open)
        self._ended: collections.deque[Ended] = collections.deque()
        self._watchdog = Watchdog(scheduler, limits.stall, self._end_process)
        self._translator = Translator(
            triton, scheduler, aligning, vocab_size, self._open, self._note_end, limits.deadline
        )
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._keep_watch, name="dragoman-watch", daemon=True)
        self._thread.start()

    def enqueue(self, request: Request) -> None:
        """Queue a request and return at once; its answer goes to its sender."""
        self._translator.enqueue(request)

    def close(self) -> None:
        """Finish what was accepted, then stop."""
        self._scheduler.close()
        self._aligning.close()
        self._closing.set()
        self._thread.join()

    def _note_end(self, request: OpenRequest, outcome: Outcome) -> None:
        self._ended.append((request, outcome, time.monotonic()))

    def _keep_watch(self) -> None:
        ticks = 0
        while not self._closing.wait(TICK_SECONDS):
            ticks += 1
            try:
                self._tick(ticks)
            except Exception:  # a metric, say; deadlines must go on
                log.exception("keeping watch failed")
        self._publish()

    def _tick(self, ticks: int) -> None:
        self._watchdog.check()
        self._open.expire()
        self._open.cancel_deserted()
        if ticks % TICKS_TO_PUBLISH == 0:
            self._publish()

    def _publish(self) -> None:
        ended = [self._ended.popleft() for _ in range(len(self._ended))]
        self._open.publish()
        self._metrics.publish(self._scheduler.counters(), self._scheduler.busy_seconds(), ended)
        if self._limits.log_requests:
            log_ended(self._triton, self._model, ended)

    def _end_process(self) -> None:
        time.sleep(GRACE_SECONDS)
        self._publish()  # that nothing is open: the launcher need not end the server
        os._exit(EXIT_STATUS)
