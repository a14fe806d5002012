"""Reserved symbols on both sides of a pair, in the places where a server will put them."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from model.data.augmentation.anchors import WORD, Anchors
from model.data.augmentation.noise import Pair
from model.data.augmentation.replacing import Replacement, replaced, stem

MOST = 4
"""Symbols that a sentence is given."""

# What surrounds a symbol that is added, by where it is added; {} is the symbol.
BEFORE = ("{} ", "{}: ", "{} – ", "[{}] ", "{}, ")
BEHIND = (" {}", " ({})", " [{}]", ": {}", " – {}", " {} {}")

_ENDING = re.compile(r"[.!?…]+$")


def plant(pair: Pair, anchors: Anchors, symbols: Sequence[str], draw: random.Random) -> Pair:
    """A pair with some of its anchors replaced, or with symbols before or behind it."""
    found = anchors.of(*pair)
    names = draw.sample(symbols, min(len(symbols), MOST))
    if found and draw.random() < 0.7:
        count = min(len(found), len(names), draw.choice((1, 1, 1, 2, 2, 3)))
        chosen = zip(draw.sample(found, count), names, strict=False)
        pair = replaced(pair, [Replacement(stem(pair, a), name, name) for a, name in chosen])
        names = names[count:]
        if not names or draw.random() < 0.8:
            return pair
    return _added(pair, names, draw)


def _added(pair: Pair, names: Sequence[str], draw: random.Random) -> Pair:
    """Symbols before or behind the sentence; behind it, before or after its final mark."""
    if draw.random() < 0.4:
        before = _filled(draw.choice(BEFORE), names)
        return before + pair[0], before + pair[1]
    behind = _filled(draw.choice(BEHIND), names)
    if draw.random() < 0.5:
        return pair[0] + behind, pair[1] + behind
    return _inside(pair[0], behind), _inside(pair[1], behind)


def _filled(pattern: str, names: Sequence[str]) -> str:
    return pattern.format(*[*names, *names][: pattern.count("{}")])


def _inside(text: str, added: str) -> str:
    """Before the final mark, if there is one."""
    ending = _ENDING.search(text)
    place = ending.start() if ending and WORD.search(text) else len(text)
    return text[:place] + added + text[place:]
