"""Sentences in capitals, which are translated in small letters: models know few words otherwise."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W\d_]+")

FEWEST_LETTERS = 6
"""A sentence of fewer may be an abbreviation, such as NATO."""


def lowered(text: str) -> str | None:
    """A sentence in capitals as one that only begins with a capital; None for any other.

    Every character keeps its place.
    """
    words = _WORD.findall(text)
    if sum(map(len, words)) < FEWEST_LETTERS or any(word != word.upper() for word in words):
        return None
    small = text.lower()
    if small == text or len(small) != len(text):  # no capitals in this script, or a letter of two
        return None
    first = _WORD.search(small)
    at = first.start() if first else 0
    return small[:at] + text[at] + small[at + 1 :]
