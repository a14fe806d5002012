"""A sentence, or a part of one, as it is translated and as it was written."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

POINT, OPEN, CLOSE, FIXED = range(4)
"""Kinds of a mark: without an inside; both ends of one; one of tags that are wrongly nested and
keep their order."""

KEPT, TARGET, CAPITAL_TARGET = range(3)
"""Kinds of what a symbol stands for: as it was written; a glossary's term; such a term in a
sentence that begins with a capital letter."""


@dataclasses.dataclass(frozen=True, slots=True)
class Masked:
    """What a symbol stands for in the output."""

    symbol: str
    written: str
    kind: int = KEPT


@dataclasses.dataclass(frozen=True, slots=True)
class Mark:
    """A tag inside a sentence, before a character of its text."""

    place: int
    written: str
    kind: int


@dataclasses.dataclass(frozen=True, slots=True)
class Space:
    """White space other than one plain space, where its text has a space."""

    place: int
    written: str


@dataclasses.dataclass(frozen=True, slots=True)
class Segment:
    """What is translated at a time.

    Attributes:
        start, end: characters of the original that it stands for.
        source: those characters.
        text: to translate: without tags, symbols for what is masked, single spaces.
        copied: what the codec makes of `text`.
        masked: by order in the text.
        marks: tags inside, in order; their kinds fit each other.
        spaces: special white space inside, in order.
        capitals: whether `text` is in small letters what was written in capitals.
    """

    start: int
    end: int
    source: str
    text: str
    copied: str
    masked: Sequence[Masked] = ()
    marks: Sequence[Mark] = ()
    spaces: Sequence[Space] = ()
    capitals: bool = False

    def to_list(self) -> list[Any]:
        """Plain values, without those that follow from others."""
        lists: list[Any] = [
            [[m.symbol, m.written, m.kind] for m in self.masked],
            [[m.place, m.written, m.kind] for m in self.marks],
            [[s.place, s.written] for s in self.spaces],
            [1] if self.capitals else [],
        ]
        while lists and not lists[-1]:
            lists.pop()
        text = None if self.text == self.source else self.text
        copied = None if self.copied == self.text else self.copied
        values = [self.start, self.end, self.source, text, copied, *lists]
        while values[-1] is None:
            values.pop()
        return values

    @classmethod
    def from_list(cls, values: Sequence[Any]) -> Segment:
        """The segment of `to_list`."""
        empty: Literal[None] = None
        filled = [*values, *[empty] * 9][:9]
        start, end, source, text, copied, masked, marks, spaces, capitals = filled
        text = source if text is None else text
        return cls(
            start,
            end,
            source,
            text,
            text if copied is None else copied,
            [Masked(*m) for m in masked or ()],
            [Mark(*m) for m in marks or ()],
            [Space(*s) for s in spaces or ()],
            bool(capitals),
        )
