"""A fake engine that records what the scheduler has it do, and lets tests act between steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from serving.batch import Translations
from serving.engine import Candidates, Edits, Ids, Rows
from serving.grid import GridDecoder
from serving.options import DecodingOptions
from serving.scheduler import Scheduler
from serving.search import search
from tests.unit.fake_engine import EOS, FakeEngine, FakeMemory

Result = TypeVar("Result")
Text = tuple[int, ...]
Cache = list[tuple[int, ...]]

POISON = 7
GREEDY = DecodingOptions(beam_size=1)
USUAL = DecodingOptions(beam_size=2)
LONG = [30, 31, 32, EOS]
"""A sentence whose search takes many steps."""


class WatchedEngine(FakeEngine):
    """Records groups and steps; both happen in the scheduler's thread.

    Attributes:
        events: in order, each group encoded, and for each step the number of its rows.
        texts: the sentences of the newest step.
        on_step: called before each step, after it was recorded.
    """

    def __init__(self) -> None:
        super().__init__()
        self.events: list[list[Text] | int] = []
        self.texts: list[Text] = []
        self.on_step: Callable[[], object] = lambda: None

    @property
    def groups(self) -> list[list[Text]]:
        """What was encoded."""
        return [event for event in self.events if isinstance(event, list)]

    @property
    def rows(self) -> list[int]:
        """The number of rows of each step."""
        return [event for event in self.events if isinstance(event, int)]

    def decoder(self) -> GridDecoder[FakeMemory, Cache]:
        return _WatchedDecoder(self)

    def encode(self, source: Ids, lengths: Ids) -> FakeMemory:
        memory = super().encode(source, lengths)
        self.events.append(memory.texts)
        return memory

    def step(
        self,
        memory: FakeMemory,
        cache: Cache | None,
        token: Ids,
        position: Ids,
        parent: Ids,
        edits: Edits,
    ) -> tuple[Candidates, Cache]:
        self.texts = memory.texts
        self.on_step()
        return super().step(memory, cache, token, position, parent, edits)


class _WatchedDecoder(GridDecoder[FakeMemory, Cache]):
    def __init__(self, engine: WatchedEngine) -> None:
        super().__init__(engine)
        self._events = engine.events

    def step(self, rows: Rows) -> Candidates:
        self._events.append(len(rows.sentence))
        return super().step(rows)


class PoisonedEngine(WatchedEngine):
    """Fails to encode, or to step, a group that holds the poison."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where = where

    def encode(self, source: Ids, lengths: Ids) -> FakeMemory:
        memory = super().encode(source, lengths)
        if self._where == "encode" and (source == POISON).any():
            raise ValueError("poisoned")
        return memory

    def step(
        self,
        memory: FakeMemory,
        cache: Cache | None,
        token: Ids,
        position: Ids,
        parent: Ids,
        edits: Edits,
    ) -> tuple[Candidates, Cache]:
        found = super().step(memory, cache, token, position, parent, edits)
        if self._where == "step" and any(POISON in text for text in memory.texts):
            raise ValueError("poisoned")
        return found


def at_step(engine: WatchedEngine, number: int, act: Callable[[], object]) -> None:
    """Let the scheduler's thread act before its step of that number, from 1."""

    def on_step() -> None:
        if len(engine.rows) == number:
            act()

    engine.on_step = on_step


def meanwhile(scheduler: Scheduler, engine: WatchedEngine, act: Callable[[], Result]) -> Result:
    """Let the scheduler's thread act before the first step of a long sentence, to its end."""
    results: list[Result] = []
    at_step(engine, 1, lambda: results.append(act()))
    assert scheduler.submit([LONG], GREEDY).result(timeout=60) == offline([LONG], GREEDY)
    return results[0]


def offline(sentences: Sequence[Sequence[int]], options: DecodingOptions) -> Translations:
    """What the scheduler must answer."""
    return search(FakeEngine(), sentences, options)


def random_request(random: np.random.Generator) -> tuple[list[list[int]], DecodingOptions]:
    sentences = [
        [*random.integers(8, 60, random.integers(0, 5)).tolist(), EOS]
        for _ in range(random.integers(1, 5))
    ]
    if random.random() < 0.2:
        sentences.insert(0, [])
    beam_size = int(random.integers(1, 5))
    return sentences, DecodingOptions(beam_size, n_best=int(random.integers(1, beam_size + 1)))
