"""Numbers: kept figure by figure, and parted as the target language parts them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from serving.errors import ConfigError

_SIGN = "[$¢£¤¥€₹₩₽%‰§]"
_FIGURES = r"\d++(?:[.,:'’/–-]\d++){0,20}+"
_ALONE = rf"(?<!\d[.,:'’/–-])[-+−]?{_FIGURES}"
_AMOUNT = rf"[A-Z]{{0,3}}{_SIGN}[-+−]?{_FIGURES}(?:{_SIGN}|[A-Za-z]{{0,2}})|{_ALONE}{_SIGN}"
_UNIT = r"(?:[kcmµ]?m|[km]?g|[mc]?l|[kM]?px|[hptx]|[kµ]?[A-Z°][A-Za-z]{0,3}|x\d++)"
_PHONE = r"\+\d++(?:[ .()/-]{1,3}\d++){1,8}+"

AMOUNTS = re.compile(rf"(?<![^\W_])(?:{_AMOUNT})(?![^\W_])")
"""Numbers with their signs ($20, 5%): a model may lose the sign, though it can spell it."""

NUMBERS = re.compile(rf"(?<![^\W_])(?:{_PHONE}|{_AMOUNT}|{_ALONE}{_UNIT}?)(?![^\W_])")
"""All numbers, those with a unit glued to them too (5km, 32GB, 4x4), but for ordinals (3rd)."""

_EXAMPLE = re.compile(r"1([^\w\s]|\s|)234([^\w\s])5")
_WORD_BEFORE = re.compile(r"(\w+)\s$")
_HALF_OF_DAY = re.compile(r"\s?[ap]\.?\s?m\b", re.IGNORECASE)


class Number(NamedTuple):
    """A number in a text.

    Attributes:
        start, end: its characters.
        target: how the target language writes it; None for the same.
    """

    start: int
    end: int
    target: str | None


@dataclasses.dataclass(frozen=True)
class Marks:
    """What parts the figures of a language's numbers: thousands, and the fraction."""

    group: str
    decimal: str

    @classmethod
    def of(cls, example: object) -> Marks:
        """Read them from how 1234.5 is written: "1,234.5", "1.234,5", "1 234,5", "1234.5".

        Raises:
            ConfigError: it is something else.
        """
        found = _EXAMPLE.fullmatch(example) if isinstance(example, str) else None
        if not found or found[1] == found[2]:
            raise ConfigError(
                f"a way of writing numbers is told by the number 1,234.5, not by {example!r}"
            )
        return cls(found[1], found[2])


class Numbers:
    """Finds the numbers of a text, and writes them for another language."""

    def __init__(self, source: str, target: str) -> None:
        """Take 1234.5 as either language writes it.

        Raises:
            ConfigError: it is something else.
        """
        self.examples = {"source": source, "target": target}
        marks = Marks.of(source)
        self._to = Marks.of(target)
        group, decimal = (re.escape(mark) for mark in (marks.group, marks.decimal))
        thousands = rf"\d{{1,3}}(?:{group}\d{{3}})+|" if group else ""
        self._whole = re.compile(
            rf"(?<![\d.,:'’])({thousands}\d+)(?:{decimal}(\d+))?(?![.,:'’]?\d)"
        )
        self._group = marks.group
        self._same = marks == self._to

    @classmethod
    def from_dict(cls, values: Mapping[str, object], where: str) -> Numbers:
        """The numbers of `examples`.

        Raises:
            ConfigError: they are something else.
        """
        if not isinstance(values, dict) or values.keys() != {"source", "target"}:
            raise ConfigError(f"{where}: numbers must have a source and a target, not {values!r}")
        return cls(values["source"], values["target"])

    def find(self, text: str) -> Iterator[Number]:
        """Yield the numbers of a text in order, none overlapping another.

        A fraction stays as it is behind a word with a capital letter (Python 3.11), and where it
        is a time (7.30 p.m.).
        """
        for found in NUMBERS.finditer(text):
            start, end = found.span()
            written = found.group()
            target = None if self._same else self._written(written, text, start, end)
            yield Number(start, end, None if target == written else target)

    def _written(self, number: str, text: str, start: int, end: int) -> str:
        def other(found: re.Match[str]) -> str:
            whole, fraction = found.groups()
            parts = whole.split(self._group) if self._group else [whole]
            if len(parts) == 1 and (fraction is None or _keeps_point(text, start, end)):
                return found.group()
            joined = self._to.group.join(parts)
            return joined if fraction is None else f"{joined}{self._to.decimal}{fraction}"

        return self._whole.sub(other, number)


def _keeps_point(text: str, start: int, end: int) -> bool:
    """Whether a number stands behind a word with a capital letter, or is a time."""
    before = _WORD_BEFORE.search(text, max(0, start - 60), start)
    capital = before is not None and before[1][0].isupper()
    return capital or _HALF_OF_DAY.match(text, end) is not None


def amounts(text: str) -> Iterator[Number]:
    """Yield the amounts of a text: what stays as it is in every model's texts."""
    for found in AMOUNTS.finditer(text):
        yield Number(*found.span(), None)
