"""Requests to stop that arrive as signals."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignals:
    """Counts SIGINT, SIGTERM and SIGHUP while it is entered, in the main thread.

    A plain count, polled: a lock taken in a signal handler could be held by what it interrupts.
    """

    def __init__(self) -> None:
        self.count = 0
        self._previous: dict[int, Callable[[int, FrameType | None], Any] | int | None] = {}

    def __enter__(self) -> Self:
        for number in STOP_SIGNALS:
            # `nohup` and shells have a reason to start a program with a signal ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
