"""Spans of characters: the pieces of a text, its words, and which piece belongs to which word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from serving.engine import Ids

SYMBOL = re.compile("\u27e6[0-9]+\u27e7")
"""What stands for something that is not translated: a number in mathematical white brackets."""

_JOINTS = frozenset("'\u2019-._,:@")
"""Belong to a word when they stand inside it: don't, e-mail, 3.14, 12:30."""


class Span(NamedTuple):
    """Characters of a text, from `start` to before `end`; empty where both are the same."""

    start: int
    end: int


def words(text: str) -> list[Span]:
    """The words of a text, ascending: runs of letters, marks and digits, and runs of other signs.

    A script that puts no spaces between words has words as long as its runs.
    """
    kinds = [_kind(character) for character in text]
    for place in range(1, len(kinds) - 1):
        if text[place] in _JOINTS and kinds[place - 1] == kinds[place + 1] == "word":
            kinds[place] = "word"
    _mark_symbols(text, kinds)
    found: list[Span] = []
    start = 0
    for place in range(1, len(kinds) + 1):
        if place == len(kinds) or kinds[place] != kinds[start]:
            if kinds[start]:
                found.append(Span(start, place))
            start = place
    return found


def _kind(character: str) -> str:
    """`word`, `sign`, or nothing for what is invisible or a space."""
    if character.isspace() or not character.isprintable():
        return "" if unicodedata.category(character) != "Cf" else "word"
    return "sign" if unicodedata.category(character)[0] in "PS" else "word"


def _mark_symbols(text: str, kinds: list[str]) -> None:
    """Give the characters of each reserved symbol a kind of their own."""
    for found in SYMBOL.finditer(text):
        kinds[slice(*found.span())] = [f"symbol at {found.start()}"] * len(found.group())


def is_symbol(word: str) -> bool:
    """Whether a word is a reserved symbol."""
    return SYMBOL.fullmatch(word) is not None


def word_of_each(pieces: Sequence[Span], found: Sequence[Span]) -> Ids:
    """Which word each piece begins in, or -1 where it begins in none, as EOS does."""
    starts = np.array([span.start for span in found], dtype=np.int64)
    ends = np.array([span.end for span in found], dtype=np.int64)
    begin = np.array([span.start for span in pieces], dtype=np.int64)
    word = np.searchsorted(starts, begin, side="right") - 1
    inside = word >= 0
    inside[inside] = begin[inside] < ends[word[inside]]
    return np.where(inside, word, -1)
