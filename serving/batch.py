"""The live batch: sentences join, step together, and leave when their search ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from serving import beam
from serving.constraints import Constraint, Constraints, Ruling
from serving.engine import Candidates, Demand, Engine, Ids, Rows, pad
from serving.options import DecodingOptions, max_output_length
from serving.sampling import Sampler, drawn

Ticket = TypeVar("Ticket")


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence.

    Attributes:
        ids: target tokens without EOS.
        score: log-probability under the length penalty, EOS included.
        truncated: the length limit ended it, or constraints that leave no token, not EOS.
        token_scores: log-probability of each token, and of EOS where that ended it.
    """

    ids: tuple[int, ...]
    score: float
    truncated: bool
    token_scores: tuple[float, ...] = ()


Translations = list[list[Hypothesis]]
"""Of each sentence its hypotheses, best first."""


def exactly(count: int, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """So many: where the search found fewer, the last one again."""
    return [hypotheses[min(rank, len(hypotheses) - 1)] for rank in range(count)]


@dataclasses.dataclass(frozen=True)
class Sentence(Generic[Ticket]):
    """A source sentence with its options and whatever its owner wants back with the answer.

    Attributes:
        ids: source tokens, closed by EOS.
        options: of its search.
        ticket: its owner's.
        prefix: tokens that its translation begins with.
        index: its place in its request, and then, from 1, in a sentence that was split: what
            tells its random numbers from the others'.
    """

    ids: Sequence[int]
    options: DecodingOptions
    ticket: Ticket
    prefix: tuple[int, ...] = ()
    index: tuple[int, ...] = (0,)

    @property
    def limit(self) -> int:
        """Longest output in tokens, EOS included."""
        options = self.options
        longest = max(len(self.ids), len(self.prefix), options.min_length)
        return options.max_length or max_output_length(longest)

    @property
    def rows(self) -> int:
        """Most rows that it takes of a step."""
        return self.options.rows

    @property
    def demand(self) -> Demand:
        """What it may come to need of an engine."""
        return Demand(len(self.ids), self.rows, self.limit, self.prefix)

    @property
    def tokens(self) -> int:
        """Most tokens whose keys and values it keeps in memory."""
        return len(self.ids) + self.rows * self.limit


@dataclasses.dataclass(frozen=True)
class _Live:
    """Search state of the sentences in flight, always of equal B and K."""

    search: beam.BeamState
    parent: Ids
    """(B, K) rows of the last step that the beams continue."""


class Batch(Generic[Ticket]):
    """Sentences in flight on one engine. Not thread-safe: its owner is one thread.

    Args:
        engine: what translates.
        symbols: reserved tokens that are copied from source to translation, never made up.
    """

    def __init__(self, engine: Engine, symbols: frozenset[int] = frozenset()) -> None:
        self._engine = engine
        self._symbols = symbols
        self._sentences: list[Sentence[Ticket]] = []
        self._samplers: list[Sampler | None] = []
        self._live: _Live | None = None
        self._decoder = engine.decoder()
        self._constraints = Constraints()

    @property
    def sentences(self) -> list[Sentence[Ticket]]:
        """Those in flight."""
        return list(self._sentences)

    @property
    def rows(self) -> int:
        """Most rows that the next step can have."""
        return sum(sentence.rows for sentence in self._sentences)

    def room(self) -> Callable[[Sentence[Ticket]], bool]:
        """The engine's room for more sentences; see `serving.engine.Room`."""
        room = self._decoder.room()
        return lambda sentence: room(sentence.demand)

    def join(self, sentences: Sequence[Sentence[Ticket]]) -> None:
        """Encode sentences and let them take part from the next step on."""
        source, _ = pad([s.ids for s in sentences], self._engine.spec.pad_id)
        self._decoder.join(source, [s.demand for s in sentences])
        self._constraints.join(
            [
                Constraint(s.ids, s.prefix, s.options, self._symbols, self._engine.spec)
                for s in sentences
            ]
        )
        self._samplers += [
            Sampler(s.options, s.index) if s.options.samples else None for s in sentences
        ]
        search = beam.start(
            np.array([s.rows for s in sentences], dtype=np.int64),
            np.array([s.options.n_best for s in sentences], dtype=np.int64),
            np.array([s.options.length_penalty for s in sentences], dtype=np.float64),
            np.array([s.limit for s in sentences], dtype=np.int64),
        )
        parent = np.zeros(search.score.shape, dtype=np.int64)
        if self._live is not None:
            search = beam.join_sentences(self._live.search, search)
            old = self._live.parent
            parent = np.zeros(search.score.shape, dtype=np.int64)
            parent[: old.shape[0], : old.shape[1]] = old
        self._live = _Live(search, parent)
        self._sentences.extend(sentences)

    def step(self) -> list[tuple[Sentence[Ticket], list[Hypothesis]]]:
        """One token for every live beam; the sentences that ended, with their hypotheses."""
        live = self._live
        if live is None:
            return []
        spec = self._engine.spec
        search, alive = live.search, live.search.alive
        ruling = self._constraints.now(search, alive)
        found = self._decoder.step(self._rows(live, alive, ruling))
        if ruling is not None:
            found = ruling.settled(found, spec.vocab_size)
            search = self._close_stuck(search, found, alive)
        selection = drawn(self._samplers, search, beam.select(search, found), found)
        search = beam.finish(search, selection, spec.eos_id)
        search, continued = beam.advance(search, selection, spec.eos_id)
        row_of = np.cumsum(alive).reshape(alive.shape) - 1
        parent = row_of[np.arange(len(row_of))[:, None], continued]
        search = beam.prune(search)
        at_limit = search.length >= search.limit
        finished = beam.finished(search)
        search = beam.close(search, search.alive & at_limit[:, None])
        self._live = _Live(search, parent)
        done = at_limit | finished
        return self._leave(done) if done.any() else []

    def remove(self, gone: Callable[[Sentence[Ticket]], bool]) -> None:
        """Drop those in flight of which `gone` is true."""
        staying = np.array([not gone(s) for s in self._sentences], dtype=bool)
        if not staying.all():
            self._keep(np.flatnonzero(staying))

    def clear(self) -> None:
        """Forget everything in flight."""
        if self._sentences:
            self._decoder.select(np.zeros(0, dtype=np.int64))
        self._sentences, self._samplers, self._live = [], [], None
        self._decoder = self._engine.decoder()
        self._constraints = Constraints()

    def _close_stuck(
        self, search: beam.BeamState, found: Candidates, alive: NDArray[np.bool_]
    ) -> beam.BeamState:
        """Where constraints leave a sentence's beams no token at all, they end here.

        A beam that is stuck beside others just ends; a drawn hypothesis has no others.
        """
        none = np.isneginf(found.log_prob[:, 0])
        if not none.any():
            return search
        stuck = np.zeros_like(alive)
        stuck[alive] = none
        alone = np.array([sampler is not None for sampler in self._samplers])
        return beam.close(search, stuck & (alone | (stuck == alive).all(axis=1))[:, None])

    def _rows(self, live: _Live, alive: NDArray[np.bool_], ruling: Ruling | None) -> Rows:
        search = live.search
        sentence, place = np.nonzero(alive)
        position = search.length[sentence]
        # A sentence that has written nothing reads some token here, which is not used.
        newest = search.tokens[sentence, place, position - 1]
        token = np.where(position > 0, newest, self._engine.spec.start_id)
        edits = ruling.edits if ruling else None
        return Rows(sentence, token, position, live.parent[alive], edits)

    def _leave(self, done: NDArray[np.bool_]) -> list[tuple[Sentence[Ticket], list[Hypothesis]]]:
        answers = [(self._sentences[i], self._answer(int(i))) for i in np.flatnonzero(done)]
        self._keep(np.flatnonzero(~done))
        return answers

    def _keep(self, staying: Ids) -> None:
        assert self._live is not None
        self._sentences = [self._sentences[i] for i in staying]
        self._samplers = [self._samplers[i] for i in staying]
        self._constraints.select(staying)
        self._decoder.select(staying)
        if staying.size == 0:
            self._live = None
            return
        search = beam.select_sentences(self._live.search, staying)
        self._live = _Live(search, self._live.parent[staying, : search.score.shape[1]])

    def _answer(self, index: int) -> list[Hypothesis]:
        assert self._live is not None
        search, eos = self._live.search, self._engine.spec.eos_id
        hypotheses = []
        for rank in range(self._sentences[index].options.n_best):
            score = float(search.kept_score[index, rank])
            if not np.isfinite(score):
                break
            written = np.s_[index, rank, : int(search.kept_length[index, rank])]
            ids = search.kept_tokens[written].tolist()
            ended = ids[-1:] == [eos]
            scores = tuple(search.kept_token_score[written].tolist())
            hypotheses.append(
                Hypothesis(tuple(ids[:-1] if ended else ids), score, not ended, scores)
            )
        if self._samplers[index] is not None:
            hypotheses.sort(key=lambda hypothesis: -hypothesis.score)
        return hypotheses
