"""Whether a process hangs, judged poll by poll.

Polls are counted rather than seconds: when everything is stopped for a while, as in a paused
container, the judge is stopped as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from serving.launcher.vitals import Vitals

POLL_SECONDS = 0.2
SILENT_POLLS = 6
"""A process is given up that long after its first question was left unanswered."""
PATIENT_POLLS = 150
"""The same for a process that does use its CPU: it may be in an endless loop."""


@dataclass(frozen=True)
class Limits:
    """Polls after which a process that a signal stopped, is silent, or only busy hangs."""

    stopped: int = SILENT_POLLS
    silent: int = SILENT_POLLS
    unanswered: int = PATIENT_POLLS


class HangJudge:
    """Judges one process by its vitals and by the question that it should answer."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._stopped = 0
        self._silent = 0
        self._unanswered = 0
        self._question: int | None = None
        self._cpu_ticks: int | None = None

    def judge(
        self, vitals: Vitals, question: int | None, is_fair: bool, has_worked: bool = False
    ) -> str | None:
        """Return why the process hangs, None while it does not.

        Args:
            vitals: of the process, now.
            question: the number of the question that is unanswered now.
            is_fair: whether the way to the process is open; a question that is held up elsewhere
                tells nothing.
            has_worked: whether it has answered others since the last poll; ours may be
                in a queue.
        """
        waits = self.is_in_doubt(question) and not has_worked
        is_idle = vitals.cpu_ticks == self._cpu_ticks and not vitals.is_busy
        self._question, self._cpu_ticks = question, vitals.cpu_ticks
        if vitals.is_traced:
            self._stopped = self._silent = self._unanswered = 0
            return None
        self._stopped = self._stopped + 1 if vitals.is_stopped else 0
        self._silent = self._silent + is_fair if waits and is_idle else 0
        self._unanswered = self._unanswered + is_fair if waits else 0
        return self._verdict()

    def is_in_doubt(self, question: int | None) -> bool:
        """Whether this question was unanswered at the last poll as well."""
        return question is not None and question == self._question

    def _verdict(self) -> str | None:
        if self._stopped >= self._limits.stopped:
            return "was stopped by a signal"
        if self._silent >= self._limits.silent:
            return "neither answers nor works"
        if self._unanswered >= self._limits.unanswered:
            return f"has not answered for {self._unanswered * POLL_SECONDS:.0f} s"
        return None
