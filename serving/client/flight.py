"""Requests that are under way together."""

from __future__ import annotations

import collections
import dataclasses
import heapq
import queue
import time
from collections.abc import Callable, Sequence
from typing import Any

from serving.client.attempts import Attempts
from serving.client.calls import IN_FLIGHT
from serving.client.connection import Connection
from serving.client.request import infer_request
from serving.client.results import Result, results_of
from serving.errors import DragomanError
from serving.request_options import Options

WAKE_SECONDS = 0.2
"""How often requests that wait for another attempt look whether the client was closed."""


@dataclasses.dataclass(order=True)
class _Request:
    """A group of texts; requests compare by the time of their next attempt.

    Attributes:
        due: when it is sent again, in seconds of the monotonic clock.
        number: of its group.
        texts: the group.
        attempts: its time.
        call: the present one.
    """

    due: float
    number: int
    texts: Sequence[str] = dataclasses.field(compare=False)
    attempts: Attempts = dataclasses.field(compare=False)
    call: Any = dataclasses.field(compare=False, default=None)


class Flight:
    """Sends groups of texts, several at a time; whichever fails first ends them all."""

    def __init__(
        self,
        connection: Connection,
        model: str,
        options: Options,
        attempts: Callable[[], Attempts],
    ) -> None:
        """Prepare.

        Args:
            connection: to the server.
            model: that translates.
            options: of every text.
            attempts: makes the time of a request, when it is first sent.
        """
        self._connection, self._model, self._options = connection, model, options
        self._attempts = attempts
        self._finished: queue.SimpleQueue[_Request] = queue.SimpleQueue()
        self._resting: list[_Request] = []
        self._open: dict[int, _Request] = {}

    def results(
        self, groups: Sequence[Sequence[str]], on_done: Callable[[int], object] | None = None
    ) -> list[Result]:
        """The results of all texts in their order.

        Raises:
            DragomanError: a request failed; the others are given up.
        """
        waiting = collections.deque(enumerate(groups))
        found: list[list[Result]] = [[] for _ in groups]
        try:
            while waiting or self._open:
                while waiting and len(self._open) < IN_FLIGHT:
                    number, texts = waiting.popleft()
                    self._open[number] = _Request(0.0, number, texts, self._attempts())
                    self._send(self._open[number])
                request = self._next()
                results = self._receive(request)
                if results is not None:
                    found[request.number] = results
                    if on_done:
                        on_done(len(results))
        finally:
            for request in self._open.values():
                if request.call is not None:
                    request.call.cancel()
        return [result for results in found for result in results]

    def _send(self, request: _Request) -> None:
        seconds = request.attempts.left()
        message = infer_request(self._model, request.texts, self._options, seconds)
        request.call = self._connection.start("ModelInfer", message, seconds)
        request.call.add_done_callback(lambda _: self._finished.put(request))

    def _next(self) -> _Request:
        """Wait for a call that has ended, and send again what is due meanwhile."""
        while True:
            wait = None
            if self._resting:
                self._connection.rest(0)
                wait = self._resting[0].due - time.monotonic()
                if wait <= 0:
                    self._send(heapq.heappop(self._resting))
                    continue
            try:
                return self._finished.get(timeout=None if wait is None else min(wait, WAKE_SECONDS))
            except queue.Empty:
                continue

    def _receive(self, request: _Request) -> list[Result] | None:
        """The results; None where the request is to be sent again."""
        try:
            results = results_of(self._connection.answer(request.call), len(request.texts))
        except DragomanError as error:
            request.due = time.monotonic() + request.attempts.pause(error)
            heapq.heappush(self._resting, request)
            return None
        del self._open[request.number]
        return results
