"""What a request may ask of the search: the one place of defaults and limits."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from serving.errors import RequestError

MAX_BEAM_SIZE = 8
"""The exported step returns 2 x 8 candidates a row, which suffices for beams up to 8."""

MAX_SOURCE_TOKENS = 1000
"""Longest sentence in tokens; attention memory grows with its square."""

EXTRA_TOKENS = 50
"""Output is at most source length + 50 tokens (paper, section 6.1)."""


@dataclasses.dataclass(frozen=True)
class DecodingOptions:
    """Options of one request.

    Attributes:
        beam_size: hypotheses kept per step, K; 1 is greedy search.
        length_penalty: alpha of Wu et al. 2016; 0 compares plain log-probabilities.
        n_best: hypotheses returned per sentence, at most `beam_size`.

    Raises:
        RequestError: a value is out of its range; the message names the range.
    """

    beam_size: int = 4
    length_penalty: float = 0.6
    n_best: int = 1

    def __post_init__(self) -> None:
        _check_integer("beam_size", self.beam_size, MAX_BEAM_SIZE)
        alpha = self.length_penalty
        if isinstance(alpha, bool) or not isinstance(alpha, int | float):
            raise RequestError(f"length_penalty must be a number, not {alpha!r}")
        if not (math.isfinite(alpha) and 0 <= alpha <= 10):
            raise RequestError(f"length_penalty must be from 0 to 10, not {alpha}")
        _check_integer("n_best", self.n_best, MAX_BEAM_SIZE)
        if self.n_best > self.beam_size:
            raise RequestError(
                f"n_best must be from 1 to beam_size ({self.beam_size}), not {self.n_best}"
            )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> DecodingOptions:
        """Options from plain values.

        Raises:
            RequestError: an unknown option, or a value out of its range.
        """
        known = [field.name for field in dataclasses.fields(cls)]
        unknown = [name for name in values if name not in known]
        if unknown:
            raise RequestError(
                f"unknown option {', '.join(map(repr, unknown))}; known options: {', '.join(known)}"
            )
        return cls(**values)


def _check_integer(name: str, value: object, largest: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise RequestError(f"{name} must be an integer, not {value!r}")
    if not 1 <= value <= largest:
        raise RequestError(f"{name} must be from 1 to {largest}, not {value}")


def max_output_length(source_length: int) -> int:
    """Longest output, EOS included, for a source of that many tokens, EOS included."""
    return source_length + EXTRA_TOKENS
