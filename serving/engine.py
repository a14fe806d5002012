"""The two verbs of every engine: encode and step. Search and scheduler know no more."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from serving.errors import ConfigError, check_known_keys

Ids = NDArray[np.int64]
Scores = NDArray[np.float32]


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
class Candidates:
    """The best next tokens of each row, best first.

    Attributes:
        log_prob: (N, C) log-probabilities, normalised over the whole vocabulary.
        token: (N, C) ids.
    """

    log_prob: Scores
    token: Ids


class Memory(Protocol):
    """Cross-attention keys and values of B sentences, as the engine keeps them."""

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


class Engine(Protocol[M, C]):
    """A translation model behind two verbs. M and C are the engine's own memory and cache."""

    @property
    def spec(self) -> EngineSpec:
        """The model's sizes and special ids."""
        ...

    def encode(self, source: Ids, lengths: Ids) -> M:
        """Run the encoder: padded ids (B, S) and lengths (B,) -> memory of B sentences."""
        ...

    def step(
        self, memory: M, cache: C | None, token: Ids, position: Ids, parent: Ids
    ) -> tuple[Candidates, C]:
        """Append one token to every row and rank what may follow.

        Args:
            memory: B sentences; row n belongs to sentence n // K, with K = N / B.
            cache: what the previous step returned; None before the first.
            token: (N,) newest token of each row.
            position: (N,) its position in the row's target, from 0. Rows may differ.
            parent: (N,) the row of the previous step that each row continues; any valid
                row (or 0 without a cache) where the position is 0.

        Returns:
            The candidates of each row, and the cache for the next step.
        """
        ...


def pad(sentences: Sequence[Sequence[int] | NDArray[Any]], pad_id: int) -> tuple[Ids, Ids]:
    """Ragged ids -> padded ids (B, S) and lengths (B,)."""
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    padded = np.full((len(sentences), int(lengths.max())), pad_id, dtype=np.int64)
    for row, sentence in zip(padded, sentences, strict=True):
        row[: len(sentence)] = sentence
    return padded, lengths
