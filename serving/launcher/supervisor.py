"""Keeps a server translating: starts it, watches it, and brings back what dies or hangs."""

from __future__ import annotations

import contextlib
import os
import signal
import time

from serving.errors import DragomanError
from serving.launcher import hang
from serving.launcher.draining import Draining
from serving.launcher.endpoint import FAULTS
from serving.launcher.journal import Journal
from serving.launcher.process import POLL_SECONDS, ServerProcess
from serving.launcher.recovery import Budget, Fault, Reload
from serving.launcher.served_model import ServedModel, served_models
from serving.launcher.signals import StopSignals
from serving.launcher.starting import NotReadyInTimeError, Starter
from serving.launcher.tracing import trace_ensembles_only
from serving.launcher.watch import Watch

STOP_MARGIN_SECONDS = 5.0
FIRST_PAUSE_SECONDS = 1.0
"""Wait so long after a start that failed, and twice as long after each further one."""


class Supervisor:
    """One server over all its starts. Call from the main thread: its end ends the server."""

    def __init__(
        self, starter: Starter, journal: Journal, signals: StopSignals, most_recoveries: int
    ) -> None:
        self._starter = starter
        self._journal = journal
        self._signals = signals
        self._budget = Budget(most_recoveries)
        self._server: ServerProcess | None = None
        self._models: dict[str, ServedModel] = {}
        self._watch: Watch | None = None

    def start(self) -> None:
        """Start the server; return once it translates, or once a signal asks to stop.

        Raises:
            DragomanError: it does not.
        """
        self._starter.log.shows_problems = False
        self._server = self._starter.start()
        self._starter.wait_until_it_translates(self._server, self._is_to_stop)
        if self._is_to_stop():
            return
        try:
            self._models = served_models(self._starter.api, self._starter.http)
        except FAULTS as error:
            raise DragomanError(f"the server does not tell its models: {error}") from error
        self._begin_to_watch()
        self._starter.log.shows_problems = True

    def keep_translating(self) -> None:
        """Return once a signal asks to stop.

        Raises:
            DragomanError: recovery is beyond us; the message says why.
        """
        polls = 0
        while not self._is_to_stop():
            fault = self._fault(with_hangs=polls % round(hang.POLL_SECONDS / POLL_SECONDS) == 0)
            if fault is not None:
                self._recover(fault)
            polls += 1
            time.sleep(POLL_SECONDS)

    def stop(self, exit_timeout: float) -> None:
        """Let requests in flight finish, refuse new ones, and end the server.

        A second signal ends it at once, and so does the moment when nothing is left to answer.
        """
        processes = self._watch.processes if self._watch is not None else {}
        self._end_watch()
        if self._server is None:
            return
        before = min(self._signals.count, 1)
        draining = Draining(self._server, processes, self._models, self._starter.metrics)
        stopped = self._server.stop(
            exit_timeout + STOP_MARGIN_SECONDS,
            at_once=lambda: self._signals.count > before or draining.poll(),
        )
        if not (stopped or draining.is_done):
            self._journal.say("the server was killed before it had stopped by itself", "warning")

    def _is_to_stop(self) -> bool:
        return self._signals.count > 0

    def _fault(self, with_hangs: bool) -> Fault | None:
        assert self._watch is not None, "start() first"
        return self._watch.dead() or (self._watch.hung() if with_hangs else None)

    def _recover(self, fault: Fault) -> None:
        began = time.monotonic()
        self._journal.say(str(fault), "error", event="fault", model=fault.model)
        self._budget.spend(began, str(fault))
        action, reason = "reload", self._reload(fault)
        if reason is not None:
            action = "restart"
            self._restart()
        if self._is_to_stop():
            return
        seconds = time.monotonic() - began
        how = "loaded it anew" if reason is None else f"started the server anew ({reason})"
        self._journal.say(
            f"{fault}; {how}; translates again after {seconds:.1f} s",
            event="recovered",
            model=fault.model,
            action=action,
            seconds=round(seconds, 2),
        )

    def _reload(self, fault: Fault) -> str | None:
        """Load the model anew; returns why that was not enough."""
        if fault.model is None:
            return "it serves no more"
        if fault.model not in self._models:
            return "it is no model that can be loaded anew"
        assert self._server is not None
        assert self._watch is not None
        for pid in fault.hung:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        leaving = self._watch.processes[fault.model]
        reload = Reload(
            fault.model,
            self._models,
            self._starter.api,
            self._starter.http,
            self._starter.metrics,
            self._starter.ready_timeout,
        )
        reload.start()
        while reload.is_alive() and not self._is_to_stop():
            if self._server.exit_code() is not None:
                return "it ended meanwhile"
            time.sleep(POLL_SECONDS)
        if reload.fault is None and not self._is_to_stop():
            self._begin_to_watch(leaving)
        return reload.fault

    def _restart(self) -> None:
        """Start the server anew, as often as may be.

        Raises:
            DragomanError: it does not become ready.
        """
        pause = FIRST_PAUSE_SECONDS
        while not self._is_to_stop():
            self._end_watch()
            assert self._server is not None
            # At once: only then are all clients told that there is no answer to come.
            self._server.kill()
            try:
                self.start()
                return
            except NotReadyInTimeError:
                raise
            except DragomanError as error:
                self._journal.say(f"starting anew failed: {error}", "error", event="fault")
                self._budget.spend(time.monotonic(), str(error))
            self._pause(pause)
            pause *= 2

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self._is_to_stop():
            time.sleep(POLL_SECONDS)

    def _begin_to_watch(self, leaving: set[int] | None = None) -> None:
        self._end_watch()
        assert self._server is not None
        self._watch = Watch(
            self._server,
            self._models,
            self._starter.http,
            self._starter.repository,
            leaving or set(),
        )
        if self._starter.is_traced:
            trace_ensembles_only(self._starter.http, self._watch.pinged)

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._watch.close()
