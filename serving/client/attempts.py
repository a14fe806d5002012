"""When a request is sent again, and when that has gone on for long enough."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from serving.client.errors import NotReadyError, UnreachableError
from serving.errors import DeadlineError, OverloadError, RequestError

FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 4.0

SHORT_SECONDS = 1.0
"""In less, the end of the time says nothing about the server."""


class Attempts:
    """The time of one request: pauses that double, each shortened by chance.

    An overloaded server is asked again while there is time: it will have room. One that cannot
    be reached or has no model is asked for `patience` seconds, the time in which a server comes
    back. Any other error would come again.
    """

    def __init__(
        self,
        timeout: float,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[], float] = random.random,
    ) -> None:
        """Begin.

        Args:
            timeout: seconds of all attempts together.
            patience: seconds during which a server that is away is asked again.
            clock: gives seconds.
            draw: gives a number from 0 to 1.

        Raises:
            RequestError: there is no time at all.
        """
        if not timeout > 0:
            raise RequestError(f"timeout must be more than 0 seconds, not {timeout}")
        self._clock, self._draw = clock, draw
        self._began = clock()
        self._timeout = timeout
        self._patience = min(patience, timeout)
        self._pause = FIRST_PAUSE_SECONDS
        self._refusal: Exception | None = None
        self._resumed = 0.0

    def left(self) -> float:
        """Seconds until the time is over."""
        return max(0.0, self._timeout - self._passed())

    def pause(self, error: Exception) -> float:
        """Seconds to wait before the next attempt.

        Raises:
            Exception: when there is no other attempt: `error`, or the one before it, when the
                last attempt had hardly any time left.
        """
        if isinstance(error, DeadlineError) and self._refusal and self._was_short():
            raise self._refusal  # which used up the time
        pause = self._pause * (0.5 + 0.5 * self._draw())
        self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)
        resumed = self._passed() + pause
        if resumed >= self._limit(error):
            raise error
        self._refusal, self._resumed = error, resumed
        return pause

    def _was_short(self) -> bool:
        return self._passed() - self._resumed < SHORT_SECONDS

    def _limit(self, error: Exception) -> float:
        if isinstance(error, OverloadError):
            return self._timeout
        if isinstance(error, UnreachableError | NotReadyError):
            return self._patience
        return 0.0

    def _passed(self) -> float:
        return self._clock() - self._began
