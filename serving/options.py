"""What a request may ask of the search: the one place of defaults and limits."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from serving.errors import RequestError

MAX_BEAM_SIZE = 8
"""The exported step returns 2 x 8 candidates a row, which suffices for beams up to 8."""

MAX_SOURCE_TOKENS = 1000
"""Longest sentence in tokens; attention memory grows with its square."""

EXTRA_TOKENS = 50
"""Output is at most source length + 50 tokens (paper, section 6.1)."""

MAX_OUTPUT_TOKENS = MAX_SOURCE_TOKENS + EXTRA_TOKENS
"""Longest output in tokens, EOS counted."""

MAX_SUPPRESSED = 1000
"""Most sequences that may be suppressed, and most tokens of one."""


class Range(NamedTuple):
    """The values that a numeric option may take, both ends included."""

    least: float
    most: float
    whole: bool = True
    """Whether it is an integer."""
    above: bool = False
    """Whether `least` itself is excluded."""

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, int | float):
            return False
        return self.least <= value <= self.most and not (self.above and value == self.least)

    def __str__(self) -> str:
        if self.above:
            return f"above {self.least} up to {self.most}"
        return f"from {self.least} to {self.most}"


RANGES = {
    "beam_size": Range(1, MAX_BEAM_SIZE),
    "length_penalty": Range(0, 10, whole=False),
    "n_best": Range(1, MAX_BEAM_SIZE),
    "min_length": Range(0, MAX_SOURCE_TOKENS),
    "max_length": Range(1, MAX_OUTPUT_TOKENS),
    "repetition_penalty": Range(1, 10, whole=False),
    "no_repeat_ngram_size": Range(0, 100),
    "temperature": Range(0, 10, whole=False),
    "top_k": Range(1, 2 * MAX_BEAM_SIZE),
    "top_p": Range(0, 1, whole=False, above=True),
    "seed": Range(0, 2**63 - 1),
}
"""Of every numeric option of a request."""

INPUT_TYPES = {"beam_size": "INT32", "length_penalty": "FP32", "n_best": "INT32"}
"""Triton's types of the options that are inputs; every other one is a request's parameter."""

MOST_ENTRIES = {"suppress": 100, "protect": 100, "glossary": 1000}
"""How many entries an option that is a list or a mapping may have."""

TEXT_FORMATS = ("text", "html")
"""What `format` may be; "html" serves XML as well."""

DETAILS = ("scores", "token_scores", "alignments", "timings")
"""What `return` may hold."""


def check_number(name: str, value: object) -> None:
    """Raise RequestError, which names the range, unless a numeric option may have this value."""
    allowed = RANGES[name]
    kinds, words = (int, "an integer") if allowed.whole else (int | float, "a number")
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise RequestError(f"{name} must be {words}, not {value!r}")
    if value not in allowed:
        raise RequestError(f"{name} must be {allowed}, not {value}")


@dataclasses.dataclass(frozen=True)
class DecodingOptions:
    """Options of one request.

    Attributes:
        beam_size: hypotheses kept per step, K; 1 is greedy search.
        length_penalty: alpha of Wu et al. 2016; 0 compares plain log-probabilities.
        n_best: hypotheses returned per sentence, at most `beam_size`.
        min_length: least output in target tokens, EOS not counted.
        max_length: longest output in target tokens, EOS counted; None: source length + 50.
        repetition_penalty: log-probabilities of tokens that a hypothesis holds already are
            multiplied by it (Keskar et al. 2019); 1 changes nothing.
        no_repeat_ngram_size: no n-gram of that many tokens occurs twice; 0 allows all.
        suppress: sequences of tokens that never occur.
        temperature: above 0, `n_best` hypotheses are drawn, each by itself, from probabilities
            with log-probabilities divided by it; 0 searches.
        top_k: draw among that many of the best tokens.
        top_p: draw among the fewest best tokens whose probabilities sum up to it.
        seed: the same one draws the same; None draws anew each time.

    Raises:
        RequestError: a value is out of its range; the message names the range.
    """

    beam_size: int = 4
    length_penalty: float = 0.6
    n_best: int = 1
    min_length: int = 0
    max_length: int | None = None
    repetition_penalty: float = 1.0
    no_repeat_ngram_size: int = 0
    suppress: tuple[tuple[int, ...], ...] = ()
    temperature: float = 0.0
    top_k: int = 2 * MAX_BEAM_SIZE
    top_p: float = 1.0
    seed: int | None = None

    def __post_init__(self) -> None:
        for name in RANGES:
            value = getattr(self, name)
            if value is not None or name not in ("max_length", "seed"):
                check_number(name, value)
        if self.n_best > self.beam_size:
            raise RequestError(
                f"n_best must be from 1 to beam_size ({self.beam_size}), not {self.n_best}"
            )
        if self.max_length is not None and self.min_length > self.max_length:
            raise RequestError(
                f"min_length must be at most max_length ({self.max_length}), not {self.min_length}"
            )
        _check_suppress(self.suppress)

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

    @property
    def samples(self) -> bool:
        """Whether hypotheses are drawn, not searched."""
        return self.temperature > 0

    @property
    def rows(self) -> int:
        """Most rows that a sentence has in a step: its beams, or the hypotheses to be drawn."""
        return self.n_best if self.samples else self.beam_size

    def seeded(self) -> Self:
        """The same with a seed, if it draws and has none."""
        if not self.samples or self.seed is not None:
            return self
        return dataclasses.replace(self, seed=secrets.randbits(63))


def _check_suppress(sequences: object) -> None:
    rule = f"suppress must be at most {MAX_SUPPRESSED} sequences of 1 to {MAX_SUPPRESSED} tokens"
    if not isinstance(sequences, tuple) or len(sequences) > MAX_SUPPRESSED:
        raise RequestError(rule)
    for sequence in sequences:
        if not isinstance(sequence, tuple) or not 1 <= len(sequence) <= MAX_SUPPRESSED:
            raise RequestError(f"{rule}, not {sequence!r}")
        if not all(type(token) is int and token >= 0 for token in sequence):
            raise RequestError(f"{rule}, not {sequence!r}")


def max_output_length(source_length: int) -> int:
    """Longest output, EOS included, for a source of that many tokens, EOS included."""
    return source_length + EXTRA_TOKENS
