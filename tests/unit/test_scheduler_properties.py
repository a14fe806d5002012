"""The scheduler under random arrivals, cancellations and failures, and in the long run.

Requests come and are cancelled in the scheduler's own thread, before chosen steps, so that every
example runs the same way each time.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import gc
import sys
import threading
from concurrent.futures import Future

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.batch import Sentence, Translations
from serving.engine import Candidates, Edits, Ids
from serving.options import DecodingOptions
from serving.scheduler import Scheduler
from tests.unit.fake_engine import EOS, FakeEngine, FakeMemory
from tests.unit.watched_engine import POISON, Cache, PoisonedEngine, offline

BEAMS = 5
"""Widest beam of a play."""

TOKENS = Sentence(range(61), DecodingOptions(BEAMS), None).tokens
"""The most that a sentence of a play takes in memory."""


@dataclasses.dataclass(frozen=True)
class Planned:
    """A request of a play: the step that it comes before, and the step that cancels it."""

    sentences: list[list[int]]
    options: DecodingOptions
    comes: int
    cancelled: int | None


@st.composite
def plans(draw: st.DrawFn) -> Planned:
    short = st.lists(st.integers(3, 60), max_size=4).map(lambda ids: [*ids, EOS])
    long = st.integers(20, 60).map(lambda n: [*range(8, n), EOS])
    sentences = draw(st.lists(st.one_of(short, short, long, st.just([])), max_size=4))
    beam_size = draw(st.integers(1, BEAMS))
    options = DecodingOptions(beam_size, n_best=draw(st.integers(1, beam_size)))
    comes = draw(st.integers(0, 30))
    wait = draw(st.one_of(st.none(), st.integers(0, 15)))
    return Planned(sentences, options, comes, None if wait is None else comes + wait)


class Play:
    """Runs a plan; where nothing is left to do, time jumps to the next event."""

    def __init__(self, plan: list[Planned], rows: int, tokens: int, poisoned: str) -> None:
        self.engine = PoisonedEngine(poisoned)
        self.engine.on_step = self._on_step
        self.scheduler = Scheduler(self.engine, rows, tokens)
        self.futures: dict[int, Future[Translations]] = {}
        self.answers: list[int] = []
        self.idle: list[int] = []
        """Steps before which a sentence waited though any would have fitted."""
        self._plan = plan
        self._room = min(rows // BEAMS, tokens // TOKENS)
        comings = [(request.comes, 0, index) for index, request in enumerate(plan)]
        ends = [(r.cancelled, 1, i) for i, r in enumerate(plan) if r.cancelled is not None]
        self._events = collections.deque(sorted(comings + ends))
        self._open = 0
        self._over = threading.Event()
        self._lock = threading.RLock()

    def run(self) -> None:
        """Return when every request is over and the scheduler is closed."""
        with self.scheduler:
            with self._lock:  # the first step waits for this; what follows is in its thread
                self._go_on()
            assert self._over.wait(timeout=60)

    def _on_step(self) -> None:
        with self._lock:
            step = len(self.engine.rows)
            self._check_use(step)
            while self._events and self._events[0][0] <= step:
                self._act()

    def _check_use(self, step: int) -> None:
        counters = self.scheduler.counters()
        encoded = isinstance(self.engine.events[-2], list)
        if counters.waiting and not encoded and counters.in_flight < self._room:
            self.idle.append(step)

    def _go_on(self) -> None:
        while not self._open and self._events:
            self._act()
        if not self._open:
            self._over.set()

    def _act(self) -> None:
        _, cancels, index = self._events.popleft()
        if cancels:
            self.futures[index].cancel()
            return
        self._open += 1
        request = self._plan[index]
        self.futures[index] = self.scheduler.submit(request.sentences, request.options)
        self.futures[index].add_done_callback(functools.partial(self._end, index))

    def _end(self, index: int, _: object) -> None:
        self.answers.append(index)
        self._open -= 1
        self._go_on()


@settings(deadline=None, max_examples=50, derandomize=True)
@given(
    plan=st.lists(plans(), min_size=1, max_size=8),
    rows=st.integers(1, 20),
    tokens=st.sampled_from([100, TOKENS, 3 * TOKENS]),
    poisoned=st.sampled_from(["encode", "step"]),
)
def test_random_plays(plan: list[Planned], rows: int, tokens: int, poisoned: str) -> None:
    play = Play(plan, rows, tokens, poisoned)
    play.run()
    assert sorted(play.answers) == list(range(len(plan)))
    for index, request in enumerate(plan):
        future = play.futures[index]
        if future.cancelled():
            assert request.cancelled is not None
        elif any(POISON in sentence for sentence in request.sentences):
            assert isinstance(future.exception(timeout=0), ValueError)
        else:
            assert future.result(timeout=0) == offline(request.sentences, request.options)
    # After a failed step each sentence has the batch to itself.
    assert poisoned == "step" or play.idle == []
    assert max(play.engine.rows, default=0) <= max(rows, BEAMS)
    counters = play.scheduler.counters()
    assert (counters.waiting, counters.in_flight) == (0, 0)


class CopyingEngine(FakeEngine):
    """Translates every sentence to threes, one less than it has tokens; quick."""

    def step(
        self,
        memory: FakeMemory,
        cache: Cache | None,
        token: Ids,
        position: Ids,
        parent: Ids,
        edits: Edits,
    ) -> tuple[Candidates, Cache]:
        beams = len(token) // memory.sentences
        ends = position + 1 == np.repeat([len(text) for text in memory.texts], beams)
        ranked = np.tile(np.arange(EOS, EOS + self.spec.candidates), (len(token), 1))
        ranked[~ends, :2] = EOS + 1, EOS
        log_prob = np.linspace(-0.01, -50, self.spec.candidates, dtype=np.float32)
        return Candidates(np.tile(log_prob, (len(token), 1)), ranked, edits.addend), []


def run_random_requests(scheduler: Scheduler, sentences: int, random: np.random.Generator) -> None:
    """Up to 50 requests at a time, each of 1 to 20 sentences; one in ten is cancelled."""
    window: collections.deque[tuple[list[int], Future[Translations]]] = collections.deque()
    while sentences > 0 or window:
        if sentences > 0:
            count = min(sentences, int(random.integers(1, 21)))
            lengths = random.geometric(0.15, count).clip(max=40).tolist()
            options = DecodingOptions(beam_size=int(random.integers(1, 4)))
            request = [[*[5] * (length - 1), EOS] for length in lengths]
            window.append((lengths, scheduler.submit(request, options)))
            sentences -= count
        if random.random() < 0.1:
            window[random.integers(len(window))][1].cancel()
        if len(window) == 50 or sentences == 0:
            lengths, future = window.popleft()
            if not future.cancelled():
                answer = future.result(timeout=60)
                assert [found[0].ids for found in answer] == [(3,) * (n - 1) for n in lengths]


def test_ten_thousand_sentences_without_growth_of_memory() -> None:
    random = np.random.default_rng(1)
    blocks = []
    with Scheduler(CopyingEngine(), rows=1024) as scheduler:
        for sentences in (1_000, 3_000, 6_000):
            run_random_requests(scheduler, sentences, random)
            gc.collect()
            blocks.append(sys.getallocatedblocks())
        counters = scheduler.counters()
    assert (counters.waiting, counters.in_flight) == (0, 0)
    assert max(blocks) - blocks[0] < 1_000  # a leak of one object a sentence would be 9,000
