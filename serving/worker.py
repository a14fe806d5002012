"""A thread with a batch of its own: it encodes groups, steps, and answers requests."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, InvalidStateError

from serving.batch import Batch, Hypothesis, Sentence
from serving.engine import Engine

log = logging.getLogger(__name__)

Translations = list[list[Hypothesis]]


@dataclasses.dataclass
class Request:
    """Answers still missing of one request."""

    future: Future[Translations]
    answers: list[list[Hypothesis] | None]
    missing: int
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    """Its sentences may be with several workers."""


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a sentence's answer belongs."""

    request: Request
    index: int


Group = list[Sentence[Place]]


@dataclasses.dataclass(frozen=True)
class Counters:
    """What is held now, and what was done since the start.

    Attributes:
        waiting: sentences in the queue.
        in_flight: sentences in batches.
        encodings: groups encoded.
        encode_seconds: time of these.
        steps: steps of batches.
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

    def __add__(self, other: Counters) -> Counters:
        """Those of two workers together."""
        pairs = zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)
        return Counters(*(one + two for one, two in pairs))


class Worker:
    """Owns a batch. All but `start`, `join`, `spoil` and the attributes is its thread's alone.

    Attributes:
        rows: most rows of its next step; read by others to share the work.
        counters: its own; `waiting` counts the sentences that it will try again.
    """

    def __init__(
        self,
        engine: Engine,
        take: Callable[[Worker], Group | None],
        ended: Callable[[Exception], None],
        name: str,
    ) -> None:
        """Prepare the thread.

        Args:
            engine: what translates.
            take: gives the next group, an empty one if none fits now, or None to end; may wait
                while nothing is in flight.
            ended: told of an error that ended the worker.
            name: the thread's.
        """
        self.rows = 0
        self.counters = Counters()
        self._batch: Batch[Place] = Batch(engine)
        self._take, self._ended = take, ended
        self._alone: collections.deque[Sentence[Place]] = collections.deque()
        self._stale = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    @property
    def sentences(self) -> Group:
        """Those in flight."""
        return self._batch.sentences

    def room(self) -> Callable[[Sentence[Place]], bool]:
        """The engine's room beside those in flight; for its own thread."""
        return self._batch.room()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def join(self) -> None:
        """Wait until the thread has ended."""
        self._thread.join()

    def spoil(self) -> None:
        """A request is over, some sentences of which may be in flight: drop them."""
        self._stale = True

    def _work(self) -> None:
        try:
            while self._turn():
                pass
        except Exception as error:
            log.exception("a worker ended")
            self._ended(error)

    def _turn(self) -> bool:
        """Encode one group, if one fits, and do one step; whether there may be more to do."""
        group = self._again() or self._take(self)
        if group is None:
            return False
        if group:
            self._encode(group)
        if self._batch.sentences:
            self._step()
        self.rows = self._batch.rows
        return True

    def _again(self) -> Group:
        """The next sentence of a group that failed, by itself."""
        while self._alone:
            sentence = self._alone.popleft()
            if not sentence.ticket.request.future.done():
                return [sentence]
        return []

    def _encode(self, group: Group) -> None:
        """What is in flight goes on if this fails; then each of the group is tried alone."""
        start = time.perf_counter()
        try:
            self._batch.join(group)
        except Exception as error:
            log.exception("encoding %d sentences failed", len(group))
            if len(group) == 1:
                fail([group[0].ticket.request.future], error)
            else:
                self._alone.extend(group)
        self.rows = self._batch.rows
        self._count(Counters(encodings=1, encode_seconds=time.perf_counter() - start))

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
            fail([s.ticket.request.future for s in self._batch.sentences], error)
            self._batch.clear()
            return
        seconds = time.perf_counter() - start
        self._count(Counters(steps=int(rows > 0), rows=rows, step_seconds=seconds))
        for sentence, hypotheses in ended:
            _answer(sentence.ticket, hypotheses)

    def _count(self, done: Counters) -> None:
        self.counters = dataclasses.replace(
            self.counters + done,
            waiting=len(self._alone),
            in_flight=len(self._batch.sentences),
        )


def _answer(place: Place, hypotheses: Sequence[Hypothesis]) -> None:
    request = place.request
    with request.lock:
        request.answers[place.index] = list(hypotheses)
        request.missing -= 1
        complete = request.missing == 0
    if complete:
        with contextlib.suppress(InvalidStateError):  # cancelled meanwhile
            request.future.set_result([a for a in request.answers if a is not None])


def fail(futures: Iterable[Future[Translations]], error: Exception) -> None:
    """End requests with an error, unless they are over already."""
    for future in futures:
        with contextlib.suppress(InvalidStateError):
            future.set_exception(error)
