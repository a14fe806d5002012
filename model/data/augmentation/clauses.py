"""Two pairs in one, and words set off: brackets, dashes, semicolons, quotation marks."""

from __future__ import annotations

import collections
import random
from collections.abc import Iterable

from model.data.augmentation.anchors import WORD, Anchors
from model.data.augmentation.noise import ENDING, QUOTES, Pair
from model.data.augmentation.replacing import Replacement, replaced, words_of

# The first clause, the second, the final mark of the whole.
BEHIND = ("{}; {}{}", "{} – {}{}", "{}: {}{}", "{} / {}{}", "{} ({}){}", "{} [{}]{}", "{}, {}{}")
BETWEEN = (" ({})", " – {} –", " [{}]")
MARKS = ("()", "()", "[]", "**", "__", *QUOTES, *QUOTES)


class Casing:
    """Knows which words have a capital only because they begin a sentence."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Learn from text: from all words but the first of each line."""
        counts = collections.Counter(
            match.group() for line in lines for match in list(WORD.finditer(line))[1:]
        )
        self._small = frozenset(
            word for word, n in counts.items() if word[0].islower() and n > counts[_upper(word)]
        )

    def lowered(self, text: str) -> str:
        """The text as it stands within a sentence."""
        first = WORD.match(text)
        if first and first.group()[0].lower() + first.group()[1:] in self._small:
            return text[0].lower() + text[1:]
        return text


def joined(first: Pair, second: Pair, casings: tuple[Casing, Casing], draw: random.Random) -> Pair:
    """The second pair behind the first one, in one sentence."""
    pattern, keeps = draw.choice(BEHIND), draw.random() < 0.3
    sides = []
    for one, other, casing in zip(first, second, casings, strict=True):
        (begin, _), (end, mark) = _split(one), _split(other)
        sides.append(pattern.format(begin, end if keeps else casing.lowered(end), mark))
    return sides[0], sides[1]


def inserted(
    first: Pair,
    second: Pair,
    anchors: Anchors,
    casings: tuple[Casing, Casing],
    draw: random.Random,
) -> Pair:
    """The second pair within the first one, behind a word of it; where it has none, behind it."""
    found = anchors.of(*first)
    if not found:
        return joined(first, second, casings, draw)
    anchor, pattern = draw.choice(found), draw.choice(BETWEEN)
    clauses = [
        pattern.format(casing.lowered(_split(side)[0]))
        for side, casing in zip(second, casings, strict=True)
    ]
    ours, theirs = words_of(first, anchor)
    return replaced(first, [Replacement(anchor, ours + clauses[0], theirs + clauses[1])])


def marked(pair: Pair, anchors: Anchors, style: str, draw: random.Random) -> Pair:
    """A word between marks on both sides; quotation marks are the target's own there."""
    found = anchors.of(*pair)
    if not found:
        return pair
    anchor, marks = draw.choice(found), draw.choice(MARKS)
    other = style if marks in QUOTES else marks
    ours, theirs = words_of(pair, anchor)
    new = Replacement(anchor, f"{marks[0]}{ours}{marks[1]}", f"{other[0]}{theirs}{other[1]}")
    return replaced(pair, [new])


def _split(text: str) -> tuple[str, str]:
    """A sentence and its final mark."""
    ending = ENDING.search(text)
    return (text[: ending.start()], ending.group().strip()) if ending else (text, "")


def _upper(word: str) -> str:
    return word[0].upper() + word[1:]
