"""Requests in, translations out, from any thread: one worker owns the engine.

Sentences of all requests wait in one queue, join the running batch as soon as rows are free,
and leave when their own search ends.
"""

from __future__ import annotations

import collections
import dataclasses
import logging
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, Self

from serving.batch import Batch, Hypothesis, Sentence
from serving.engine import Engine
from serving.errors import DragomanError, RequestError
from serving.options import MAX_SOURCE_TOKENS, DecodingOptions

log = logging.getLogger(__name__)

DEFAULT_ROWS = 128
"""Rows of a step, N: enough to fill the matrix products, few enough for a short step."""

Translations = list[list[Hypothesis]]


@dataclasses.dataclass
class _Request:
    """Answers still missing of one request; touched by the worker alone."""

    future: Future[Translations]
    answers: list[list[Hypothesis] | None]
    missing: int


@dataclasses.dataclass(frozen=True)
class _Place:
    """Where a sentence's answer belongs."""

    request: _Request
    index: int


class Scheduler:
    """Translates sentences of concurrent requests in one batch."""

    def __init__(self, engine: Engine[Any, Any], rows: int = DEFAULT_ROWS) -> None:
        """Start the worker; `rows` bounds the rows of a step."""
        self._batch: Batch[_Place] = Batch(engine)
        self._rows = rows
        self._waiting: collections.deque[Sentence[_Place]] = collections.deque()
        self._change = threading.Condition()
        self._closing = False
        self._worker = threading.Thread(target=self._work, name="dragoman-engine", daemon=True)
        self._worker.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def submit(
        self, sentences: Sequence[Sequence[int]], options: DecodingOptions
    ) -> Future[Translations]:
        """Queue sentences for translation; returns at once, from any thread.

        Args:
            sentences: ids of each, closed by EOS; an empty one has the empty translation.
            options: of all of them.

        Returns:
            A future of each sentence's hypotheses, best first. A sentence of too many tokens,
            or a closed scheduler, makes it raise a DragomanError. Cancelling the future frees
            what still waits.
        """
        future: Future[Translations] = Future()
        longest = max((len(ids) for ids in sentences), default=0)
        if longest > MAX_SOURCE_TOKENS:
            message = f"a sentence has {longest} tokens; at most {MAX_SOURCE_TOKENS} are allowed"
            future.set_exception(RequestError(message))
            return future
        answers = [None if ids else [Hypothesis((), 0.0, False)] for ids in sentences]
        missing = answers.count(None)
        request = _Request(future, answers, missing)
        if missing == 0:
            future.set_result([answer for answer in answers if answer is not None])
            return future
        new = [Sentence(s, options, _Place(request, i)) for i, s in enumerate(sentences) if s]
        with self._change:
            if self._closing:
                future.set_exception(DragomanError("the scheduler is closed"))
                return future
            self._waiting.extend(new)
            self._change.notify()
        return future

    def close(self) -> None:
        """Refuse new requests, finish what was accepted, end the worker."""
        with self._change:
            self._closing = True
            self._change.notify()
        self._worker.join()

    def _work(self) -> None:
        while True:
            joining = self._take()
            if joining is None:
                return
            self._join(joining)
            self._step()

    def _join(self, joining: Sequence[Sentence[_Place]]) -> None:
        """A group that cannot be encoded fails alone; what is in flight goes on."""
        if not joining:
            return
        try:
            self._batch.join(joining)
        except Exception as error:
            log.exception("encoding failed")
            self._fail(joining, error)

    def _step(self) -> None:
        try:
            ended = self._batch.step()
        except Exception as error:
            log.exception("a step failed")
            self._fail(self._batch.sentences, error)
            self._batch.clear()
            return
        for sentence, hypotheses in ended:
            self._answer(sentence.ticket, hypotheses)

    def _take(self) -> list[Sentence[_Place]] | None:
        """Sentences that fit into the batch now; waits while there is nothing to do at all."""
        with self._change:
            while not self._waiting and not self._batch.sentences:
                if self._closing:
                    return None
                self._change.wait()
            joining: list[Sentence[_Place]] = []
            while self._waiting:
                sentence = self._waiting[0]
                if sentence.ticket.request.future.cancelled():
                    self._waiting.popleft()
                    continue
                rows = self._batch.rows_with([*joining, sentence])
                if rows > self._rows and (joining or self._batch.sentences):
                    break
                joining.append(self._waiting.popleft())
            return joining

    def _answer(self, place: _Place, hypotheses: list[Hypothesis]) -> None:
        request = place.request
        request.answers[place.index] = hypotheses
        request.missing -= 1
        if request.missing or request.future.done():
            return
        if request.future.set_running_or_notify_cancel():
            request.future.set_result([a for a in request.answers if a is not None])

    def _fail(self, sentences: Sequence[Sentence[_Place]], error: Exception) -> None:
        """Fail the requests of these sentences, and drop what of them still waits."""
        requests = {id(s.ticket.request): s.ticket.request for s in sentences}
        with self._change:
            kept = [s for s in self._waiting if id(s.ticket.request) not in requests]
            self._waiting = collections.deque(kept)
        for request in requests.values():
            if not request.future.done() and request.future.set_running_or_notify_cancel():
                request.future.set_exception(error)
