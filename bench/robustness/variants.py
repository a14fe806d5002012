"""A test set as people might have typed it, with what must hold of its translations."""

from __future__ import annotations

import dataclasses
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from typing import Literal

from bench.robustness.planting import (
    Planted,
    figures,
    with_numbers,
    with_placeholders,
    with_tags,
    without_placeholders,
)

_ENDING = re.compile(r"\s*[.!?…]+$")
_TAG = re.compile(r"<[^>]+>")
_FIGURES = re.compile(r"\d+(?:[.,:'’/–-]\d+)*")  # also such as a model has glued to a word


def _as_it_is(translations: Sequence[str]) -> list[str]:
    return list(translations)


@dataclasses.dataclass(frozen=True)
class Variant:
    """One way of writing a test set.

    Attributes:
        name: of the row in the report.
        sources: to translate.
        references: what the translations are scored against.
        format: "text" or "html".
        rest: what of the translations is scored.
        checks: by name, which share of the translations must pass and does.
        lines: of the test set that this is made of, counted from 0; None for all.
    """

    name: str
    sources: list[str]
    references: list[str]
    format: Literal["text", "html"] = "text"
    rest: Callable[[Sequence[str]], list[str]] = _as_it_is
    checks: dict[str, Callable[[int, str], bool]] = dataclasses.field(default_factory=dict)
    lines: Sequence[int] | None = None


def variants(sources: Sequence[str], references: Sequence[str], seed: int) -> list[Variant]:
    """All variants of a test set, the clean one first."""
    plain, right = list(sources), list(references)
    unmarked = [_ENDING.sub("", line) for line in right]
    return [
        Variant("clean", plain, right),
        Variant("in capitals", [s.upper() for s in plain], [r.upper() for r in right]),
        Variant("without capitals", [s.lower() for s in plain], right),
        Variant("without final mark", [_ENDING.sub("", s) for s in plain], unmarked),
        Variant("doubled spaces", [s.replace(" ", "  ") for s in plain], right),
        _emoji(plain, right),
        _quoted(plain, right),
        _placeholders(plain, right, random.Random(seed)),
        _tags(plain, right, random.Random(seed)),
        _numbers(plain, right, random.Random(seed)),
    ]


def _emoji(sources: list[str], references: list[str]) -> Variant:
    def kept(_: int, translation: str) -> bool:
        return translation.count("🙂") == 1

    def rest(translations: Sequence[str]) -> list[str]:
        return [t.replace("🙂", "").strip() for t in translations]

    return Variant(
        "emoji", [f"{s} 🙂" for s in sources], references, rest=rest, checks={"kept once": kept}
    )


def _quoted(sources: list[str], references: list[str]) -> Variant:
    def kept(_: int, translation: str) -> bool:
        return translation[:1] in "\"„“»'‚" and translation.rstrip(".!?")[-1:] in "\"“”«'‘"

    def rest(translations: Sequence[str]) -> list[str]:
        return [t.strip("\"„“”»«'‚‘’") for t in translations]

    quoted = [f"“{s}”" for s in sources]
    return Variant("in quotes", quoted, references, rest=rest, checks={"still quoted": kept})


def _placeholders(sources: list[str], references: list[str], draw: random.Random) -> Variant:
    pairs = zip(sources, references, strict=True)
    planted: list[Planted] = [with_placeholders(s, r, draw) for s, r in pairs]

    def once(number: int, translation: str) -> bool:
        wanted = planted[number].kept
        return all(translation.count(name) == planted[number].text.count(name) for name in wanted)

    def in_place(number: int, translation: str) -> bool:
        one = planted[number]
        if one.at_end is None:
            return once(number, translation)
        name = one.kept[0]
        marks = ' .!?…:()"“„”'
        if one.at_end:
            return translation.rstrip(marks).endswith(name.rstrip(marks))
        return translation.startswith(name)

    def rest(translations: Sequence[str]) -> list[str]:
        pairs = zip(translations, planted, strict=True)
        return [without_placeholders(translation, one) for translation, one in pairs]

    return Variant(
        "placeholders",
        [one.text for one in planted],
        references,
        rest=rest,
        checks={"kept once": once, "in place": in_place},
    )


def _tags(sources: list[str], references: list[str], draw: random.Random) -> Variant:
    tagged = [with_tags(source, draw) for source in sources]

    def kept(number: int, translation: str) -> bool:
        return sorted(_TAG.findall(translation)) == sorted(_TAG.findall(tagged[number]))

    def rest(translations: Sequence[str]) -> list[str]:
        return [_TAG.sub("", translation) for translation in translations]

    checks = {"kept once": kept, "balanced": lambda _, text: is_balanced(text)}
    return Variant("tags", tagged, references, format="html", rest=rest, checks=checks)


def _numbers(sources: list[str], references: list[str], draw: random.Random) -> Variant:
    pairs = zip(sources, references, strict=True)
    drawn = [with_numbers(source, reference, draw) for source, reference in pairs]
    changed = [pair for pair in drawn if pair]
    wanted = [Counter(figures(source)) for source, _ in changed]

    def kept(number: int, translation: str) -> bool:
        return wanted[number] <= Counter(figures(translation, _FIGURES))

    return Variant(
        "other numbers",
        [source for source, _ in changed],
        [reference for _, reference in changed],
        checks={"kept": kept},
        lines=[number for number, pair in enumerate(drawn) if pair],
    )


def is_balanced(text: str) -> bool:
    """Whether every tag of an HTML fragment is closed in its order."""
    checker = _Balance()
    checker.feed(text)
    checker.close()
    return checker.fine and not checker.open


class _Balance(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fine = True

    def handle_starttag(self, tag: str, _attributes: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open[-1:] == [tag]:
            self.open.pop()
        else:
            self.fine = False
