"""Engines whose step is a plain function over B sentences of K rows each.

So are the PyTorch engines and those of tests: the cache goes in and comes out, and every
sentence has as many rows as the widest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from serving.engine import (
    Candidates,
    Demand,
    Edits,
    EngineSpec,
    Ids,
    Room,
    Rows,
    lengths_of,
    unlimited,
)


class Memory(Protocol):
    """What the encoder made of B sentences, as the engine keeps it."""

    @property
    def sentences(self) -> int:
        """B."""
        ...

    def join(self, other: Self) -> Self:
        """The sentences of both, other's after ours."""
        ...

    def select(self, sentences: Ids) -> Self:
        """The sentences at these indices, in this order."""
        ...


M = TypeVar("M", bound=Memory)
C = TypeVar("C")


class GridEngine(Protocol[M, C]):
    """A translation model as two functions. M and C are the engine's own memory and cache."""

    @property
    def spec(self) -> EngineSpec:
        """The model's sizes and special ids."""
        ...

    def encode(self, source: Ids, lengths: Ids) -> M:
        """Run the encoder: padded ids (B, S) and lengths (B,) -> memory of B sentences."""
        ...

    def step(
        self, memory: M, cache: C | None, token: Ids, position: Ids, parent: Ids, edits: Edits
    ) -> tuple[Candidates, C]:
        """Append one token to every row and rank what may follow.

        Args:
            memory: B sentences; row n belongs to sentence n // K, with K = N / B.
            cache: what the previous step returned; None before the first.
            token: (N,) newest token of each row.
            position: (N,) its position in the row's target, from 0. Rows may differ.
            parent: (N,) the row of the previous step that each row continues; any valid
                row (or 0 without a cache) where the position is 0.
            edits: (N, M) of log-probabilities.

        Returns:
            The candidates of each row, and the cache for the next step.
        """
        ...


class GridDecoder(Generic[M, C]):
    """Sentences in flight on such an engine; see `serving.engine.Decoder`."""

    def __init__(self, engine: GridEngine[M, C]) -> None:
        self._engine = engine
        self._memory: M | None = None
        self._cache: C | None = None
        self._cells: Ids = np.zeros(1, dtype=np.int64)
        """Where in the last step's grid, (B x K), each of its rows was."""

    def join(self, source: Ids, demands: Sequence[Demand]) -> None:
        """Encode sentences; they follow those in flight."""
        memory = self._engine.encode(source, lengths_of(demands))
        self._memory = memory if self._memory is None else self._memory.join(memory)

    def room(self) -> Room:
        """All that memory holds."""
        return unlimited

    def select(self, sentences: Ids) -> None:
        """Keep the sentences at these places."""
        assert self._memory is not None
        if len(sentences):
            self._memory = self._memory.select(sentences)
        else:
            self._memory = self._cache = None

    def step(self, rows: Rows) -> Candidates:
        """One token for each row; the grid's other cells hold a first token that nobody reads."""
        assert self._memory is not None
        place, beams = rows.places
        cells = rows.sentence * beams + place
        size = self._memory.sentences * beams
        token = np.full(size, self._engine.spec.start_id, dtype=np.int64)
        position, parent = np.zeros((2, size), dtype=np.int64)
        token[cells], position[cells] = rows.token, rows.position
        parent[cells] = self._cells[np.where(rows.position > 0, rows.parent, 0)]
        edits = Edits.none(size, rows.edits.width if rows.edits else 0)
        if rows.edits:
            edits.put(cells, rows.edits)
        found, self._cache = self._engine.step(
            self._memory, self._cache, token, position, parent, edits
        )
        self._cells = cells
        return Candidates(found.log_prob[cells], found.token[cells], found.edited[cells])


def stack_padded(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Stack (B, H, S, D/H) on axis B, the shorter S padded with zeros."""
    count, heads, _, width = first.shape
    length = max(first.shape[2], second.shape[2])
    joined = np.zeros((count + len(second), heads, length, width), dtype=first.dtype)
    joined[:count, :, : first.shape[2]] = first
    joined[count:, :, : second.shape[2]] = second
    return joined
