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

from serving.batch import Batch, Hypothesis, Sentence, Translations
from serving.engine import Engine

log = logging.getLogger(__name__)


@dataclasses.dataclass
class Request:
    """Answers still missing of one request."""

    future: Future[Translations]
    answers: list[list[Hypothesis] | None]
    missing: int
    joined: Callable[[], object] | None = None
    """To be called once, when the first of its sentences is in flight."""

    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    """Its sentences may be with several workers."""

    def tell_joined(self) -> None:
        """One of its sentences is in flight."""
        with self.lock:
            joined, self.joined = self.joined, None
        if joined is not None:
            joined()


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
        busy_since: when the turn that it is in began, on time.monotonic's clock; None while it
            waits for work.
        failures: sentences that failed by themselves, one after another, since the last answer.
    """

    def __init__(
        self,
        engine: Engine,
        symbols: frozenset[int],
        take: Callable[[Worker], Group | None],
        ended: Callable[[Exception], None],
        name: str,
    ) -> None:
        """Prepare the thread.

        Args:
            engine: what translates.
            symbols: reserved tokens that are copied; see `Batch`.
            take: gives the next group, an empty one if none fits now, or None to end; may wait
                while nothing is in flight.
            ended: told of an error that ended the worker.
            name: the thread's.
        """
        self.rows = 0
        self.counters = Counters()
        self.busy_since: float | None = None
        self.failures = 0
        self._batch: Batch[Place] = Batch(engine, symbols)
        self._take, self._ended = take, ended
        self._alone: collections.deque[Sentence[Place]] = collections.deque()
        self._suspects: collections.deque[Sentence[Place]] = collections.deque()
        self._isolated = False
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
        group = self._next()
        if group is None:
            return False
        self.busy_since = time.monotonic()
        if group:
            self._encode(group)
        if self._batch.sentences:
            self._step()
        self.rows = self._batch.rows
        self.busy_since = None
        return True

    def _next(self) -> Group | None:
        """What to encode now; a suspect has the batch to itself to its end."""
        if self._isolated and self._batch.sentences:
            return []
        suspect = self._again(self._suspects)
        self._isolated = bool(suspect)
        return suspect or self._again(self._alone) or self._take(self)

    def _again(self, failed: collections.deque[Sentence[Place]]) -> Group:
        """The next of these that still needs an answer, by itself."""
        while failed:
            sentence = failed.popleft()
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
                self._fail_one(group[0], error)
            else:
                self._alone.extend(group)
        else:
            for sentence in group:
                sentence.ticket.request.tell_joined()
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
            sentences = self._batch.sentences
            log.exception("a step of %d sentences failed", len(sentences))
            self._batch.clear()
            if len(sentences) > 1:
                self._suspects.extend(sentences)
            self._count(Counters())
            if len(sentences) == 1:
                self._fail_one(sentences[0], error)
            return
        seconds = time.perf_counter() - start
        self._count(Counters(steps=int(rows > 0), rows=rows, step_seconds=seconds))
        for sentence, hypotheses in ended:
            self.failures = 0
            _answer(sentence.ticket, hypotheses)

    def _fail_one(self, sentence: Sentence[Place], error: Exception) -> None:
        self.failures += 1
        fail([sentence.ticket.request.future], error)

    def _count(self, done: Counters) -> None:
        self.counters = dataclasses.replace(
            self.counters + done,
            waiting=len(self._alone) + len(self._suspects),
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
