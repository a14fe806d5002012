"""Requests that were accepted and are not answered yet."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any

from serving.errors import DEADLINE, DeadlineError
from serving.triton.interface import ResponseSender

ASKED_AT_ONCE = 16
"""Senders asked per call whether their client has gone: each costs some 0.1 ms."""


@dataclasses.dataclass(eq=False)
class OpenRequest:
    """One request, and what is told of it when it ends. It takes the answer as its sender would.

    Attributes:
        sender: takes its answer; None once it has.
        id: given by its client, else empty.
        arrived: when, on time.monotonic's clock.
        seconds: that it may take.
        future: of its translations, once it is submitted.
        joined: when its first sentence was in flight.
        sentences: in it.
        source_tokens: of these.
        output_tokens: of their best hypotheses, EOS included.
        truncations: of these, cut off at the length limit.
    """

    sender: ResponseSender | None
    id: str = ""
    arrived: float = dataclasses.field(default_factory=time.monotonic)
    seconds: float = 0.0
    future: Future[Any] | None = None
    joined: float | None = None
    sentences: int = 0
    source_tokens: int = 0
    output_tokens: int = 0
    truncations: int = 0
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    def send(self, response: Any, flags: int) -> None:
        """Send the answer, the only one."""
        with self.lock:
            sender, self.sender, self.future = self.sender, None, None
            if sender is not None:
                sender.send(response, flags=flags)

    def is_deserted(self) -> bool:
        """Whether its client has gone, as far as Triton tells.

        A sender that has sent its answer must not be asked: the server has freed what the
        question is about.
        """
        with self.lock:
            return self.sender is not None and self.sender.is_cancelled()

    def tell_joined(self) -> None:
        """Its first sentence is in flight."""
        self.joined = time.monotonic()

    def expire(self, now: float) -> None:
        """End it where its time is over."""
        future = self.future
        if future is not None and now - self.arrived > self.seconds:
            message = f"{DEADLINE}not translated within {self.seconds:g} s"
            with contextlib.suppress(InvalidStateError):  # answered just now
                future.set_exception(DeadlineError(message))


class OpenRequests:
    """All open requests of a model, from any thread.

    `show` publishes their number. It is told 1 before the first is accepted and 0 after the last
    was answered, and the number itself when `publish` is called: so that what it shows is above
    zero whenever a request is open, though calling it for each would be slow.
    """

    def __init__(self, show: Callable[[int], object]) -> None:
        self._show = show
        self._shown = 0
        self._open: set[OpenRequest] = set()
        self._to_ask: collections.deque[OpenRequest] = collections.deque()
        self._lock = threading.Lock()
        show(0)

    def __len__(self) -> int:
        return len(self._open)

    def add(self, request: OpenRequest) -> None:
        """Accept one."""
        with self._lock:
            self._open.add(request)
            if not self._shown:
                self._tell(1)

    def remove(self, request: OpenRequest) -> None:
        """One is answered."""
        with self._lock:
            self._open.discard(request)

    def publish(self) -> None:
        """Show how many there are."""
        with self._lock:
            if len(self._open) != self._shown:
                self._tell(len(self._open))

    def expire(self) -> None:
        """End those whose time is over."""
        now = time.monotonic()
        for request in self._all():
            request.expire(now)

    def cancel_deserted(self) -> None:
        """Cancel some of those whose clients have gone, each in turn; others next time."""
        if not self._to_ask:
            self._to_ask.extend(self._all())
        for _ in range(min(ASKED_AT_ONCE, len(self._to_ask))):
            request = self._to_ask.popleft()
            future = request.future
            if future is not None and request.is_deserted():
                future.cancel()

    def _all(self) -> list[OpenRequest]:
        with self._lock:
            return list(self._open)

    def _tell(self, count: int) -> None:
        self._show(count)
        self._shown = count
