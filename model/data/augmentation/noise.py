"""What people do to text: no capitals, missing marks, quotation marks of any style."""

from __future__ import annotations

import collections
import random
import re
from collections.abc import Iterable

Pair = tuple[str, str]

QUOTES = ('""', "''", "„“", "“”", "«»")
"""Opening and closing marks: two characters each."""

_QUOTED = re.compile(
    "|".join(f"{marks[0]}([^{marks}]+){marks[1]}" for marks in QUOTES if marks != "''")
)
ENDING = re.compile(r"\s*[.!?…。]+$")


def lowercase(source: str, target: str) -> Pair:
    """The source without capitals."""
    return source.lower(), target


def without_ending(source: str, target: str) -> Pair:
    """Both sides without their final mark."""
    return ENDING.sub("", source), ENDING.sub("", target)


def requoted(source: str, target: str, draw: random.Random) -> Pair:
    """Other quotation marks around what the source quotes."""
    marks = draw.choice(QUOTES)

    def other(found: re.Match[str]) -> str:
        return marks[0] + next(group for group in found.groups() if group) + marks[1]

    return _QUOTED.sub(other, source), target


def quoted(source: str, target: str, style: str, draw: random.Random) -> Pair:
    """Both sides in quotation marks, the target in those of its language."""
    marks = draw.choice(QUOTES)
    return marks[0] + source + marks[1], style[0] + target + style[1]


def usual_quotes(lines: Iterable[str]) -> str:
    """The style of quotation marks that a text has most of; straight ones where it has none."""
    counts = collections.Counter(
        marks
        for line in lines
        for marks in QUOTES[2:]
        if marks[0] in line and marks[1] in line[line.index(marks[0]) + 1 :]
    )
    return counts.most_common(1)[0][0] if counts else QUOTES[0]
