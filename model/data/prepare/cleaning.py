"""What makes a pair unfit to learn from."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Set
from typing import NamedTuple

from model.data.prepare.inputs import LONGEST_LINE, Row
from serving.errors import ConfigError
from serving.text import normalise

SHORT = 10
"""Characters by which the longer side may always exceed the ratio: "Yes." may be a sentence."""


class Reason(enum.StrEnum):
    """Why a pair is removed; the first that applies, in this order."""

    MALFORMED = "malformed"
    TOO_LONG = "too_long"
    INVALID = "invalid_utf8"
    EMPTY = "empty"
    RATIO = "ratio"
    EXCLUDED = "excluded"
    DUPLICATE = "duplicate"


class Pair(NamedTuple):
    """Normalised text: no control character, so neither tab nor line end."""

    source: str
    target: str


class Fault(NamedTuple):
    """Why a pair is unfit.

    Attributes:
        reason: what is wrong.
        side: where it is wrong: 0 source, 1 target.
        detail: the text, or what was found instead of one.
    """

    reason: Reason
    side: int
    detail: str


@dataclasses.dataclass(frozen=True)
class CleaningRules:
    """Limits of a pair, in characters of normalised text.

    Attributes:
        max_characters: on either side.
        max_ratio: of the longer side to the shorter, `SHORT` characters aside.
    """

    max_characters: int = 2000
    max_ratio: float = 3.0

    def __post_init__(self) -> None:
        most = LONGEST_LINE // 4  # no character takes more bytes of UTF-8
        if not 1 <= self.max_characters <= most:
            raise ConfigError(f"max-characters must be from 1 to {most}, not {self.max_characters}")
        if not self.max_ratio >= 1:
            raise ConfigError(f"max-ratio must be at least 1, not {self.max_ratio}")


class Cleaner:
    """Tells pairs that are fit to learn from.

    Args:
        rules: limits of length.
        excluded: normalised lines, such as a test set's, that neither side may be.
    """

    def __init__(self, rules: CleaningRules, excluded: Set[str]) -> None:
        self._rules, self._excluded = rules, excluded

    def clean(self, row: Row) -> Pair | Fault:
        """The pair of a row, normalised; or the first thing wrong with it."""
        if len(row) != 2:
            return Fault(Reason.MALFORMED, 0, f"{len(row)} columns instead of 2")
        source, target = row
        if source is None or target is None:
            return Fault(Reason.TOO_LONG, row.index(None), f"more than {LONGEST_LINE} bytes")
        texts: list[str] = []
        try:
            for raw in (source, target):
                texts.append(normalise(raw.decode("utf-8")))
        except UnicodeDecodeError as error:
            return Fault(Reason.INVALID, len(texts), error.reason)
        pair = Pair(*texts)
        return self._fault(pair) or pair

    def _fault(self, pair: Pair) -> Fault | None:
        lengths = (len(pair.source), len(pair.target))
        shorter, longer = min(lengths), max(lengths)
        if longer > self._rules.max_characters:
            return self._at(Reason.TOO_LONG, pair, lengths.index(longer))
        if not shorter:
            return self._at(Reason.EMPTY, pair, lengths.index(shorter))
        if longer > self._rules.max_ratio * shorter + SHORT:
            return self._at(Reason.RATIO, pair, lengths.index(longer))
        for side, text in enumerate(pair):
            if text in self._excluded:
                return self._at(Reason.EXCLUDED, pair, side)
        return None

    @staticmethod
    def _at(reason: Reason, pair: Pair, side: int) -> Fault:
        # Of an empty line there is nothing to see: show what would translate it.
        return Fault(reason, side, pair[side] or pair[1 - side])
