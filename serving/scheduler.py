"""Requests in, translations out, from any thread: workers own the batches.

Sentences of all requests wait in one fair queue. Between two steps of a batch one small group
of them is encoded, if rows are free, and takes part from the next step on; each leaves when its
own search ends or its request is cancelled.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
import operator
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Self

from serving.batch import Hypothesis, Sentence, Translations
from serving.copying import translate
from serving.engine import Engine
from serving.errors import OVERLOADED, DragomanError, EngineError, OverloadError, RequestError
from serving.options import MAX_SOURCE_TOKENS, DecodingOptions
from serving.waiting import Share, Waiting
from serving.worker import Counters, Group, Place, Request, Worker, fail

DEFAULT_ROWS = 128
"""Rows of a step, N: enough to fill the matrix products, few enough for a short step."""

DEFAULT_TOKENS = 32_768
"""Tokens whose keys and values may be kept at once, sources and longest outputs together.

The base model keeps 6 layers x 2 x 512 floats = 24 KiB of each, so this is 768 MiB. 32 sentences
of beam size 4 fill 128 rows before it where they have up to 164 tokens; the largest sentence
allowed, 1,000 tokens with beam size 8, takes 9,400.
"""

REST_SECONDS = 0.005
"""How long an idle worker waits for room in a request's share: about a step."""

COMPANY_SECONDS = 2.0
"""After a small request, large ones leave room for the next for so long."""

MANY_FAILURES = 8
"""Sentences that fail in succession, each tried by itself: then it is the engine that fails."""


class Scheduler:
    """Translates sentences of concurrent requests, together in few batches."""

    def __init__(
        self,
        engine: Engine,
        rows: int = DEFAULT_ROWS,
        tokens: int = DEFAULT_TOKENS,
        workers: int = 1,
        queue: int | None = None,
        symbols: frozenset[int] = frozenset(),
        share: int | None = None,
    ) -> None:
        """Start the workers.

        A sentence that alone exceeds `rows` or `tokens` is translated when its worker has
        nothing else.

        Args:
            engine: what translates.
            rows: most rows of a step; a sentence has as many as its beam size.
            tokens: most tokens in memory, of all workers together: sentences in flight times
                `Sentence.tokens` of the widest.
            workers: batches side by side, each in a thread of its own.
            queue: most sentences that may wait before a new request's; None lets any number.
            symbols: reserved tokens: a translation has each as often as its source.
            share: rows that one request may hold while small ones come: on CPUs a step takes as
                long as it has rows, and so would theirs; None lets it hold all.
        """
        self._share_rows, self._small_came = share, -math.inf
        self._rows, self._tokens = rows, max(1, tokens // workers)
        self._change = threading.Condition()
        self._queue = queue
        self._symbols, self._vocab_size = symbols, engine.spec.vocab_size
        self._waiting: Waiting[Future[Translations], Place] = Waiting()
        self._open: set[Future[Translations]] = set()
        self._closing = False
        self._failure: DragomanError | None = None
        self._workers = [
            Worker(engine, symbols, self._take, self._worker_ended, f"dragoman-engine-{number}")
            for number in range(workers)
        ]
        for worker in self._workers:
            worker.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def submit(
        self,
        sentences: Sequence[Sequence[int]],
        options: DecodingOptions,
        joined: Callable[[], object] | None = None,
        prefixes: Sequence[Sequence[int]] = (),
    ) -> Future[Translations]:
        """Queue sentences for translation; returns at once, from any thread.

        Args:
            sentences: ids of each, closed by EOS; an empty one has the empty translation.
            options: of all of them.
            joined: called once, from a worker's thread, when the first of them is in flight.
            prefixes: tokens that the translation of each begins with; none at all by default.

        Returns:
            A future of each sentence's hypotheses, best first. A sentence of too many tokens,
            too many that wait (OverloadError), a closed or a failed scheduler make it raise a
            DragomanError. Ending the future, by cancelling it or by an exception, frees what
            waits of it at once, and what is in flight before the next step.
        """
        options = options.seeded()
        pairs = zip(sentences, prefixes or [()] * len(sentences), strict=True)
        whole = [
            Sentence(ids, options, index, tuple(prefix), (index,))
            for index, (ids, prefix) in enumerate(pairs)
        ]
        fault = self._fault(whole)
        if fault:
            future: Future[Translations] = Future()
            future.set_exception(RequestError(fault))
            return future
        return translate(whole, self._symbols, self._submit, joined)

    def _submit(
        self,
        sentences: Sequence[Sentence[int]],
        joined: Callable[[], object] | None,
        accepted: bool,
    ) -> Future[Translations]:
        """Queue them; what belongs to an accepted request is not refused for lack of room."""
        future: Future[Translations] = Future()
        answers = [None if s.ids else [Hypothesis((), 0.0, False)] for s in sentences]
        request = Request(future, answers, answers.count(None), joined)
        if request.missing == 0:
            future.set_result([answer for answer in answers if answer is not None])
            return future
        new = [
            Sentence(s.ids, s.options, Place(request, place), s.prefix, s.index)
            for place, s in enumerate(sentences)
            if s.ids
        ]
        with self._change:
            refusal = self._failure if accepted else self._refusal(new)
            if refusal is not None:
                future.set_exception(refusal)
                return future
            self._waiting.add(future, new)
            self._open.add(future)
            if self._share_rows and sum(s.rows for s in new) <= self._share_rows:
                self._small_came = time.monotonic()
            self._change.notify_all()
        future.add_done_callback(self._forget)
        return future

    def counters(self) -> Counters:
        """What is waiting, in flight and done; cheap, from any thread."""
        total = functools.reduce(operator.add, (worker.counters for worker in self._workers))
        with self._change:
            return dataclasses.replace(total, waiting=total.waiting + len(self._waiting))

    def busy_seconds(self) -> float:
        """How long the slowest worker has been in its turn; 0 where all wait for work."""
        since = [worker.busy_since for worker in self._workers]
        return max((time.monotonic() - start for start in since if start is not None), default=0.0)

    def failure(self) -> DragomanError | None:
        """Why no request can succeed any more; None while some may.

        A worker has ended, or MANY_FAILURES sentences failed one after another, each by itself.
        """
        if self._failure is None and any(w.failures >= MANY_FAILURES for w in self._workers):
            return EngineError(f"the engine failed on {MANY_FAILURES} sentences in succession")
        return self._failure

    def fail(self, error: DragomanError) -> None:
        """Refuse new requests and end all open ones with an error, at once."""
        with self._change:
            self._closing, self._failure = True, error
            left = list(self._open)
            self._change.notify_all()
        fail(left, error)

    def close(self) -> None:
        """Refuse new requests, finish what was accepted, end the workers."""
        with self._change:
            self._closing = True
            self._change.notify_all()
        for worker in self._workers:
            worker.join()

    def _take(self, worker: Worker) -> Group | None:
        """The next group for a worker; an idle one waits until there is one."""
        in_flight = worker.sentences
        with self._change:
            while not in_flight and not self._waiting:
                if self._closing:
                    return None
                self._change.wait()
            group = self._group_for(worker, in_flight)
            if not group and not in_flight:  # all that waits holds its share with other workers
                self._change.wait(REST_SECONDS)
            return group

    def _group_for(self, worker: Worker, in_flight: Group) -> Group:
        rows = min(self._rows - worker.rows, self._share(worker))
        group = self._waiting.take(
            rows, self._tokens, not in_flight, in_flight, worker.room, self._shares()
        )
        worker.rows += sum(sentence.rows for sentence in group)
        return group

    def _share(self, worker: Worker) -> int:
        """Rows to take so that all workers have equally many; the next sentence's for the least."""
        taken = [other.rows for other in self._workers]
        share = -(-(sum(taken) + self._waiting.rows) // len(taken)) - worker.rows
        least = worker.rows == min(taken)
        return max(share, self._waiting.next_rows if least else 0)

    def _shares(self) -> Share[Future[Translations]] | None:
        """What one request may hold now; None where it may hold all."""
        if not self._share_rows or time.monotonic() - self._small_came > COMPANY_SECONDS:
            return None
        held: collections.Counter[Future[Translations]] = collections.Counter()
        for worker in self._workers:
            for sentence in worker.sentences:
                held[sentence.ticket.request.future] += sentence.rows
        return Share(self._share_rows, held)

    def _forget(self, future: Future[Translations]) -> None:
        """A request is over: drop what is left of it. Runs in the thread that ended it."""
        with self._change:
            self._waiting.drop(future)
            self._open.discard(future)
        cancelled = future.cancelled()
        if cancelled:
            future.set_running_or_notify_cancel()  # else concurrent.futures.wait never returns
        if cancelled or future.exception():
            for worker in self._workers:
                worker.spoil()

    def _fault(self, sentences: Sequence[Sentence[int]]) -> str | None:
        """What is wrong with them, if anything."""
        for name, sizes in (
            ("sentence", [len(s.ids) for s in sentences]),
            ("prefix", [len(s.prefix) for s in sentences]),
        ):
            longest = max(sizes, default=0)
            if longest > MAX_SOURCE_TOKENS:
                return f"a {name} has {longest} tokens; at most {MAX_SOURCE_TOKENS} are allowed"
        if not all(0 <= token < self._vocab_size for s in sentences for token in s.prefix):
            return f"a prefix has a token that is not from 0 to {self._vocab_size - 1}"
        return None

    def _refusal(self, new: Group) -> DragomanError | None:
        """Why these sentences cannot be taken."""
        if self._failure is not None:
            return self._failure
        if self._closing:
            return DragomanError("the scheduler is closed")
        if self._queue is None or len(self._waiting) < self._queue:
            return None
        ahead = self._waiting.ahead(new)
        if ahead < self._queue:
            return None
        return OverloadError(f"{OVERLOADED}{ahead:,} sentences wait before it; try again later")

    def _worker_ended(self, error: Exception) -> None:
        """No request may be left without an answer."""
        failure = EngineError(f"the engine has ended: {type(error).__name__}: {error}")
        failure.__cause__ = error
        self.fail(failure)
