"""Reserved symbols on both sides of a pair, in the places where a server will put them."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from model.data.augmentation.anchors import WORD, Anchor, Anchors

MOST = 4
"""Symbols that a sentence is given."""

# What surrounds a symbol that is added, by where it is added; {} is the symbol.
BEFORE = ("{} ", "{}: ", "{} – ", "[{}] ", "{}, ")
BEHIND = (" {}", " ({})", " [{}]", ": {}", " – {}", " {} {}")

_ENDING = re.compile(r"[.!?…]+$")


def plant(
    source: str,
    target: str,
    anchors: Anchors,
    symbols: Sequence[str],
    draw: random.Random,
) -> tuple[str, str]:
    """A pair with some of its anchors replaced, or with symbols before or behind it."""
    found = anchors.of(source, target)
    names = draw.sample(symbols, min(len(symbols), MOST))
    if found and draw.random() < 0.7:
        chosen = draw.sample(found, min(len(found), draw.choice((1, 1, 1, 2, 2, 3))))
        source, target = _replaced(source, target, chosen, names)
        names = names[len(chosen) :]
        if draw.random() < 0.8:
            return source, target
    return _added(source, target, names, draw)


def _replaced(
    source: str, target: str, chosen: Sequence[Anchor], names: Sequence[str]
) -> tuple[str, str]:
    pairs = [
        (_stems(source, target, anchor), name) for anchor, name in zip(chosen, names, strict=False)
    ]
    return (
        _with(source, [(anchor.source, name) for anchor, name in pairs]),
        _with(target, [(anchor.target, name) for anchor, name in pairs]),
    )


def _stems(source: str, target: str, anchor: Anchor) -> Anchor:
    """Without the genitive's ending of both sides: a symbol can have one, too."""
    (begin, end), (first, last) = anchor
    if source[begin:end].endswith(("'s", "’s")) and target[first:last].endswith("s"):
        return Anchor((begin, end - 2), (first, last - 1))
    return anchor


def _with(text: str, replacements: Sequence[tuple[tuple[int, int], str]]) -> str:
    for (start, end), name in sorted(replacements, reverse=True):
        text = text[:start] + name + text[end:]
    return text


def _added(source: str, target: str, names: Sequence[str], draw: random.Random) -> tuple[str, str]:
    """Symbols before or behind the sentence; behind it, before or after its final mark."""
    if draw.random() < 0.4:
        before = _filled(draw.choice(BEFORE), names)
        return before + source, before + target
    behind = _filled(draw.choice(BEHIND), names)
    if draw.random() < 0.5:
        return source + behind, target + behind
    return _inside(source, behind), _inside(target, behind)


def _filled(pattern: str, names: Sequence[str]) -> str:
    return pattern.format(*[*names, *names][: pattern.count("{}")])


def _inside(text: str, added: str) -> str:
    """Before the final mark, if there is one."""
    ending = _ENDING.search(text)
    place = ending.start() if ending and WORD.search(text) else len(text)
    return text[:place] + added + text[place:]
