"""What every engine offers: sentences join, step and leave. Search and scheduler know no more."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from serving.errors import ConfigError, check_known_keys

Ids = NDArray[np.int64]
Scores = NDArray[np.float32]


NEVER = -1e9
"""Added to a log-probability, it makes a token impossible."""

IMPOSSIBLE = -1e8
"""Log-probabilities below it are of tokens that are impossible."""

MAX_WORKERS = 4
"""Decoders side by side by default, at most: Python serves them one at a time."""


@dataclasses.dataclass(frozen=True)
class EngineSpec:
    """What search must know of a model; saved as `model.json` beside the graphs.

    Attributes:
        vocab_size: V.
        candidates: C, the best next tokens that a step returns for each row.
        decoder_layers: number of layers with a self-attention cache.
        heads: H.
        d_head: width of one head, D/H.
        pad_id: fills ragged batches.
        start_id: the first decoder input.
        eos_id: ends a hypothesis.
    """

    vocab_size: int
    candidates: int
    decoder_layers: int
    heads: int
    d_head: int
    pad_id: int
    start_id: int
    eos_id: int

    @classmethod
    def from_dict(cls, values: dict[str, int], where: str) -> EngineSpec:
        """Read plain values.

        Raises:
            ConfigError: a key is unknown or missing.
        """
        known = [field.name for field in dataclasses.fields(cls)]
        check_known_keys(values, known, where)
        missing = [name for name in known if name not in values]
        if missing:
            raise ConfigError(f"missing key {', '.join(map(repr, missing))} in {where}")
        return cls(**values)


@dataclasses.dataclass(frozen=True)
class Edits:
    """What a step does to log-probabilities before it chooses: each times a factor plus an addend.

    Nothing is normalised again. Where a row has the same id twice, both have the same edit, and
    so a row is filled up to the width of the others.

    Attributes:
        ids: (N, M) tokens, M from 0. Those that matter most come first: an engine of fixed
            shapes may do the last only to its candidates.
        factor: (N, M), 1 or more.
        addend: (N, M), 0 or less.
    """

    ids: Ids
    factor: Scores
    addend: Scores

    @classmethod
    def none(cls, rows: int, width: int = 0) -> Edits:
        """Edits of so many rows that change nothing."""
        shape = (rows, width)
        ids, factor = np.zeros(shape, dtype=np.int64), np.ones(shape, dtype=np.float32)
        return cls(ids, factor, np.zeros(shape, dtype=np.float32))

    @property
    def arrays(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """All three."""
        return self.ids, self.factor, self.addend

    @property
    def width(self) -> int:
        """M."""
        return self.ids.shape[1]

    def of(self, rows: Ids) -> Edits:
        """Those of these rows."""
        return Edits(*(array[rows] for array in self.arrays))

    def put(self, rows: Ids, other: Edits) -> None:
        """Give these rows the edits of an array that is no wider."""
        if other.width == 0:
            other = Edits.none(len(other.ids), 1)
        width = min(other.width, self.width)
        for mine, theirs in zip(self.arrays, other.arrays, strict=True):
            mine[rows, :width] = theirs[:, :width]
            mine[rows, width:] = theirs[:, :1]


@dataclasses.dataclass(frozen=True)
class Candidates:
    """The best next tokens of each row, best first.

    Attributes:
        log_prob: (N, C) log-probabilities, normalised over the whole vocabulary, or over the
            sentence's shortlist where the engine has one, then edited; below `IMPOSSIBLE` is no
            candidate.
        token: (N, C) ids.
        edited: (N, M) the log-probabilities of the ids that the rows' edits name, edited.
    """

    log_prob: Scores
    token: Ids
    edited: Scores


@dataclasses.dataclass(frozen=True)
class Rows:
    """The rows of one step: the live beams of all sentences in flight, sentence by sentence.

    Attributes:
        sentence: (N,) its sentence's place among those in flight, ascending; each has a row.
        token: (N,) newest token of each row.
        position: (N,) its position in the row's target, from 0. Rows may differ.
        parent: (N,) the row of the previous step that each continues; any where the position is 0.
        edits: of their log-probabilities; None changes nothing.
    """

    sentence: Ids
    token: Ids
    position: Ids
    parent: Ids
    edits: Edits | None = None

    @functools.cached_property
    def places(self) -> tuple[Ids, int]:
        """Each row's place (N,) among those of its sentence, and the most rows of a sentence."""
        counts = np.bincount(self.sentence)
        first = np.cumsum(counts) - counts
        return np.arange(len(self.sentence)) - first[self.sentence], int(counts.max())


class Demand(NamedTuple):
    """What a sentence may come to need.

    Attributes:
        source: its tokens.
        beams: most rows that it has in a step.
        output: most tokens that it writes.
        forced: tokens that it must be able to write, whatever its source.
    """

    source: int
    beams: int
    output: int
    forced: tuple[int, ...] = ()


Room = Callable[[Demand], bool]
"""Takes room for one more sentence at each call, whatever becomes of it; False if none is left."""


def unlimited(_: Demand) -> bool:
    """The room of an engine that holds all that memory does."""
    return True


class Decoder(Protocol):
    """Sentences in flight on an engine, with all that their next step needs."""

    def join(self, source: Ids, demands: Sequence[Demand]) -> None:
        """Encode padded ids (B, S); their sentences follow those in flight.

        Raises:
            RequestError: a sentence is too large for this engine.
        """
        ...

    def room(self) -> Room:
        """What is free now, beside those in flight."""
        ...

    def select(self, sentences: Ids) -> None:
        """Keep the sentences at these places, ascending; the others leave."""
        ...

    def step(self, rows: Rows) -> Candidates:
        """Append one token to every row and rank what may follow, (N, C)."""
        ...


class Engine(Protocol):
    """A translation model that decodes sentences together."""

    @property
    def spec(self) -> EngineSpec:
        """The model's sizes and special ids."""
        ...

    def decoder(self) -> Decoder:
        """A new decoder with nothing in flight."""
        ...


def pad(sentences: Sequence[Sequence[int] | NDArray[Any]], pad_id: int) -> tuple[Ids, Ids]:
    """Ragged ids -> padded ids (B, S) and lengths (B,)."""
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    padded = np.full((len(sentences), int(lengths.max())), pad_id, dtype=np.int64)
    for row, sentence in zip(padded, sentences, strict=True):
        row[: len(sentence)] = sentence
    return padded, lengths


def lengths_of(demands: Sequence[Demand]) -> Ids:
    """The lengths (B,) of sources."""
    return np.array([demand.source for demand in demands], dtype=np.int64)


def default_workers(threads: int) -> int:
    """How many decoders make the most of that many threads; 0 threads are one a core."""
    return min(MAX_WORKERS, threads or os.cpu_count() or 1)
