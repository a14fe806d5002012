"""Finds given terms as whole words in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_PART = re.compile(r"\w+|[^\w\s]")


class Terms:
    """Terms by their first part and length, so that a text is read once whatever their number.

    A term may have a capital first letter where a sentence begins.
    """

    def __init__(self, terms: Iterable[str]) -> None:
        self._terms: dict[str, dict[int, set[str]]] = {}
        for term in terms:
            self._add(term)
            self._add(term[:1].upper() + term[1:])
        self._given = frozenset(terms)

    def _add(self, term: str) -> None:
        first = _PART.match(term)
        if first:
            self._terms.setdefault(first.group(), {}).setdefault(len(term), set()).add(term)

    def find(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and the given term; the longest first of a place, never overlapping."""
        if not self._terms:
            return
        done = 0
        for part in _PART.finditer(text):
            start = part.start()
            lengths = self._terms.get(part.group())
            if lengths is None or start < done:
                continue
            for length in sorted(lengths, reverse=True):
                found = text[start : start + length]
                if found not in lengths[length] or not _whole(text, start, start + length):
                    continue
                term = found if found in self._given else self._uncapitalised(text, start, found)
                if term is not None:
                    done = start + length
                    yield start, done, term
                    break

    def _uncapitalised(self, text: str, start: int, found: str) -> str | None:
        small = found[:1].lower() + found[1:]
        before = text[max(0, start - 20) : start].rstrip(" \t\u00a0\"'“„«‘(*-•")
        begins = not before or before[-1] in ".!?…:\n\r。！？"
        return small if begins and small in self._given else None


def _whole(text: str, start: int, end: int) -> bool:
    """Whether no letter or figure of a longer word stands beside it."""
    left = start > 0 and _is_word(text[start - 1]) and _is_word(text[start])
    right = end < len(text) and _is_word(text[end]) and _is_word(text[end - 1])
    return not left and not right


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
