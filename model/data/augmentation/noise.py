"""What people do to text: capitals, missing marks, quotation marks of every style, numbers."""

from __future__ import annotations

import random
import re

Pair = tuple[str, str]

QUOTES = ('""', "“”", "„“", "«»", "»«", "‹›", "‘’", "''", "``", "「」")
"""Opening and closing marks: two characters each."""

_QUOTED = re.compile("|".join(f"{marks[0]}([^{marks}]+){marks[1]}" for marks in QUOTES[:4]))
_ENDING = re.compile(r"\s*[.!?…。]+$")
_NUMBER = re.compile(r"(?<![\d.,])\d+(?![\d.,]*\d)")


def capitals(source: str, target: str) -> Pair:
    """Both sides in capitals."""
    return source.upper(), target.upper()


def lowercase(source: str, target: str) -> Pair:
    """The source without capitals."""
    return source.lower(), target


def without_ending(source: str, target: str) -> Pair:
    """Both sides without their final mark."""
    return _ENDING.sub("", source), _ENDING.sub("", target)


def requoted(source: str, target: str, draw: random.Random) -> Pair:
    """Other quotation marks around what the source quotes."""
    marks = draw.choice(QUOTES)

    def other(found: re.Match[str]) -> str:
        return marks[0] + next(group for group in found.groups() if group) + marks[1]

    return _QUOTED.sub(other, source), target


def renumbered(source: str, target: str, draw: random.Random) -> Pair:
    """Other numbers where both sides have the same ones, each once."""
    ours, theirs = _NUMBER.findall(source), _NUMBER.findall(target)
    shared = [n for n in ours if ours.count(n) == 1 and theirs.count(n) == 1]
    new = {number: _like(number, draw) for number in shared}

    def other(found: re.Match[str]) -> str:
        return new.get(found.group(), found.group())

    return _NUMBER.sub(other, source), _NUMBER.sub(other, target)


def _like(number: str, draw: random.Random) -> str:
    """Another number, mostly of as many digits."""
    digits = len(number) if draw.random() < 0.7 else draw.randint(1, 7)
    return str(draw.randrange(10 ** (digits - 1), 10**digits))
