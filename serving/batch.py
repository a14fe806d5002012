"""The live batch: sentences join, step together, and leave when their search ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from serving import beam
from serving.engine import Engine, Ids, Memory, pad
from serving.options import DecodingOptions, max_output_length

Ticket = TypeVar("Ticket")


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence.

    Attributes:
        ids: target tokens without EOS.
        score: log-probability under the length penalty, EOS included.
        truncated: the length limit ended it, not EOS.
    """

    ids: tuple[int, ...]
    score: float
    truncated: bool


@dataclasses.dataclass(frozen=True)
class Sentence(Generic[Ticket]):
    """A source sentence with its options and whatever its owner wants back with the answer."""

    ids: Sequence[int]
    options: DecodingOptions
    ticket: Ticket


@dataclasses.dataclass(frozen=True)
class _Live:
    """Engine and search state of the sentences in flight, always of equal B and K."""

    memory: Memory
    search: beam.BeamState
    parent: Ids
    """(B, K) rows of the last step that the beams continue."""


class Batch(Generic[Ticket]):
    """Sentences in flight on one engine. Not thread-safe: its owner is one thread."""

    def __init__(self, engine: Engine[Any, Any]) -> None:
        self._engine = engine
        self._sentences: list[Sentence[Ticket]] = []
        self._live: _Live | None = None
        self._cache: Any = None

    @property
    def sentences(self) -> Sequence[Sentence[Ticket]]:
        """What is in flight."""
        return self._sentences

    def rows_with(self, joining: Sequence[Sentence[Ticket]]) -> int:
        """Rows of a step, N = B x K, if these sentences joined; K is the widest beam of all."""
        everyone = [*self._sentences, *joining]
        return len(everyone) * max((s.options.beam_size for s in everyone), default=0)

    def join(self, sentences: Sequence[Sentence[Ticket]]) -> None:
        """Encode sentences and let them take part from the next step on."""
        source, lengths = pad([s.ids for s in sentences], self._engine.spec.pad_id)
        memory = self._engine.encode(source, lengths)
        options = [s.options for s in sentences]
        search = beam.start(
            np.array([o.beam_size for o in options], dtype=np.int64),
            np.array([o.length_penalty for o in options], dtype=np.float64),
            np.array([max_output_length(int(n)) for n in lengths], dtype=np.int64),
        )
        parent = np.zeros(search.score.shape, dtype=np.int64)
        if self._live is not None:
            memory = self._live.memory.join(memory)
            search = beam.join_sentences(self._live.search, search)
            widened = np.zeros(search.score.shape, dtype=np.int64)
            old = self._live.parent
            widened[: old.shape[0], : old.shape[1]] = old
            parent = widened
        self._live = _Live(memory, search, parent)
        self._sentences.extend(sentences)

    def step(self) -> list[tuple[Sentence[Ticket], list[Hypothesis]]]:
        """One token for every live beam; the sentences that ended, with their hypotheses."""
        live = self._live
        if live is None:
            return []
        spec = self._engine.spec
        width = live.search.score.shape[1]
        started = np.repeat(live.search.length > 0, width)
        token = np.where(started, beam.newest_tokens(live.search), spec.start_id)
        position = np.repeat(live.search.length, width)
        candidates, self._cache = self._engine.step(
            live.memory, self._cache, token, position, live.parent.reshape(-1)
        )
        selection = beam.select(live.search, candidates)
        search = beam.finish(live.search, selection, spec.eos_id)
        search, continued = beam.advance(search, selection, spec.eos_id)
        parent = continued + width * np.arange(len(continued))[:, None]
        at_limit = search.length >= search.limit
        search = beam.close(search, np.flatnonzero(at_limit & ~beam.finished(search)))
        done = at_limit | beam.finished(search)
        self._live = _Live(live.memory, search, parent)
        return self._leave(done) if done.any() else []

    def _leave(self, done: np.ndarray[Any, Any]) -> list[tuple[Sentence[Ticket], list[Hypothesis]]]:
        assert self._live is not None
        answers = [(self._sentences[i], self._answer(int(i))) for i in np.flatnonzero(done)]
        staying = np.flatnonzero(~done)
        self._sentences = [self._sentences[i] for i in staying]
        if staying.size == 0:
            self.clear()
            return answers
        search = beam.select_sentences(self._live.search, staying)
        parent = self._live.parent[staying, : search.score.shape[1]]
        self._live = _Live(self._live.memory.select(staying), search, parent)
        return answers

    def clear(self) -> None:
        """Forget everything in flight."""
        self._sentences, self._live, self._cache = [], None, None

    def _answer(self, index: int) -> list[Hypothesis]:
        assert self._live is not None
        search, eos = self._live.search, self._engine.spec.eos_id
        hypotheses = []
        for rank in range(self._sentences[index].options.n_best):
            score = float(search.kept_score[index, rank])
            if not np.isfinite(score):
                break
            length = int(search.kept_length[index, rank])
            ids = search.kept_tokens[index, rank, :length].tolist()
            ended = ids[-1] == eos
            hypotheses.append(Hypothesis(tuple(ids[:-1] if ended else ids), score, not ended))
        return hypotheses
