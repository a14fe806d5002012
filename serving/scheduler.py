"""Requests in, translations out, from any thread: one worker owns the engine.

Sentences of all requests wait in one fair queue. Between two steps of the batch one small group
of them is encoded, if rows are free, and takes part from the next step on; each leaves when its
own search ends or its request is cancelled.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import logging
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, InvalidStateError
from typing import Self

from serving.batch import Batch, Hypothesis, Sentence
from serving.engine import Engine
from serving.errors import DragomanError, RequestError
from serving.options import MAX_SOURCE_TOKENS, DecodingOptions
from serving.waiting import Waiting

log = logging.getLogger(__name__)

DEFAULT_ROWS = 128
"""Rows of a step, N: enough to fill the matrix products, few enough for a short step."""

DEFAULT_TOKENS = 32_768
"""Tokens whose keys and values may be kept at once, sources and longest outputs together.

The base model keeps 6 layers x 2 x 512 floats = 24 KiB of each, so this is 768 MiB. 32 sentences
of beam size 4 fill 128 rows before it where they have up to 164 tokens; the largest sentence
allowed, 1,000 tokens with beam size 8, takes 9,400.
"""

Translations = list[list[Hypothesis]]


@dataclasses.dataclass(frozen=True)
class Counters:
    """What a scheduler holds now, and what it did since it started.

    Attributes:
        waiting: sentences in the queue.
        in_flight: sentences in the batch.
        encodings: groups encoded.
        encode_seconds: time of these.
        steps: steps of the batch.
        rows: beam sizes of what was in flight, summed over steps; no step had more rows.
        step_seconds: time of these.
    """

    waiting: int = 0
    in_flight: int = 0
    encodings: int = 0
    encode_seconds: float = 0.0
    steps: int = 0
    rows: int = 0
    step_seconds: float = 0.0


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

    def __init__(
        self, engine: Engine, rows: int = DEFAULT_ROWS, tokens: int = DEFAULT_TOKENS
    ) -> None:
        """Start the worker.

        A sentence that alone exceeds `rows` or `tokens` is translated when nothing else is.

        Args:
            engine: what translates.
            rows: most rows of a step; a sentence has as many as its beam size.
            tokens: most tokens in memory: sentences in flight times `Sentence.tokens` of the
                widest.
        """
        self._batch: Batch[_Place] = Batch(engine)
        self._rows, self._tokens = rows, tokens
        self._change = threading.Condition()
        self._waiting: Waiting[Future[Translations], _Place] = Waiting()
        self._open: set[Future[Translations]] = set()
        self._closing = False
        self._stale = False  # something in flight is of a request that is over
        self._alone: collections.deque[Sentence[_Place]] = collections.deque()
        self._counters = Counters()
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
            what waits of it at once, and what is in flight before the next step.
        """
        future: Future[Translations] = Future()
        longest = max((len(ids) for ids in sentences), default=0)
        if longest > MAX_SOURCE_TOKENS:
            message = f"a sentence has {longest} tokens; at most {MAX_SOURCE_TOKENS} are allowed"
            future.set_exception(RequestError(message))
            return future
        answers = [None if ids else [Hypothesis((), 0.0, False)] for ids in sentences]
        request = _Request(future, answers, answers.count(None))
        if request.missing == 0:
            future.set_result([answer for answer in answers if answer is not None])
            return future
        new = [Sentence(s, options, _Place(request, i)) for i, s in enumerate(sentences) if s]
        with self._change:
            if self._closing:
                future.set_exception(DragomanError("the scheduler is closed"))
                return future
            self._waiting.add(future, new)
            self._open.add(future)
            self._change.notify()
        future.add_done_callback(self._forget)
        return future

    def counters(self) -> Counters:
        """What is waiting, in flight and done; cheap, from any thread."""
        with self._change:
            waiting = len(self._waiting) + len(self._alone)
            return dataclasses.replace(self._counters, waiting=waiting)

    def close(self) -> None:
        """Refuse new requests, finish what was accepted, end the worker."""
        with self._change:
            self._closing = True
            self._change.notify()
        self._worker.join()

    def _forget(self, future: Future[Translations]) -> None:
        """A request is over: drop what is left of it. Runs in the thread that ended it."""
        with self._change:
            self._waiting.drop(future)
            self._open.discard(future)
        if future.cancelled():
            future.set_running_or_notify_cancel()  # else concurrent.futures.wait never returns
            self._stale = True
        elif future.exception():
            self._stale = True

    def _work(self) -> None:
        try:
            while self._turn():
                pass
        except Exception as error:
            log.exception("the worker ended")
            with self._change:
                self._closing = True
                left = list(self._open)
            _fail(left, error)

    def _turn(self) -> bool:
        """Encode one group, if one fits, and do one step; whether there may be more to do."""
        group = self._take()
        if group is None:
            return False
        if group:
            self._encode(group)
        if self._batch.sentences:
            self._step()
        return True

    def _take(self) -> list[Sentence[_Place]] | None:
        """The next group; waits while there is nothing to do at all, None when closed."""
        while self._alone:
            sentence = self._alone.popleft()
            if not sentence.ticket.request.future.done():
                return [sentence]
        in_flight = self._batch.sentences
        with self._change:
            while not self._waiting and not in_flight:
                if self._closing:
                    return None
                self._change.wait()
            rows = self._rows - self._batch.rows
            return self._waiting.take(rows, self._tokens, not in_flight, in_flight)

    def _encode(self, group: list[Sentence[_Place]]) -> None:
        """What is in flight goes on if this fails; then each of the group is tried alone."""
        start = time.perf_counter()
        try:
            self._batch.join(group)
        except Exception as error:
            log.exception("encoding %d sentences failed", len(group))
            if len(group) == 1:
                _fail([group[0].ticket.request.future], error)
            else:
                self._alone.extend(group)
        done = self._counters
        self._counters = dataclasses.replace(
            done,
            in_flight=len(self._batch.sentences),
            encodings=done.encodings + 1,
            encode_seconds=done.encode_seconds + time.perf_counter() - start,
        )

    def _step(self) -> None:
        start, rows = time.perf_counter(), self._batch.rows
        try:
            if self._stale:
                self._stale = False
                self._batch.remove(lambda s: s.ticket.request.future.done())
                rows = self._batch.rows
            ended = self._batch.step()
        except Exception as error:
            log.exception("a step failed")
            _fail([s.ticket.request.future for s in self._batch.sentences], error)
            self._batch.clear()
            return
        done = self._counters
        self._counters = dataclasses.replace(
            done,
            in_flight=len(self._batch.sentences),
            steps=done.steps + (rows > 0),
            rows=done.rows + rows,
            step_seconds=done.step_seconds + time.perf_counter() - start,
        )
        for sentence, hypotheses in ended:
            _answer(sentence.ticket, hypotheses)


def _answer(place: _Place, hypotheses: list[Hypothesis]) -> None:
    request = place.request
    request.answers[place.index] = hypotheses
    request.missing -= 1
    if request.missing == 0:
        with contextlib.suppress(InvalidStateError):  # cancelled meanwhile
            request.future.set_result([a for a in request.answers if a is not None])


def _fail(futures: Iterable[Future[Translations]], error: Exception) -> None:
    for future in futures:
        with contextlib.suppress(InvalidStateError):  # over already
            future.set_exception(error)
