"""Other words in the place of anchors, on both sides of a pair."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from model.data.augmentation.anchors import Anchor
from model.data.augmentation.noise import Pair


class Replacement(NamedTuple):
    """What stands in the place of an anchor afterwards."""

    anchor: Anchor
    source: str
    target: str


def replaced(pair: Pair, replacements: Iterable[Replacement]) -> Pair:
    """The pair with its anchors replaced; no two of them overlap."""
    chosen = list(replacements)
    return (
        _with(pair[0], [(r.anchor.source, r.source) for r in chosen]),
        _with(pair[1], [(r.anchor.target, r.target) for r in chosen]),
    )


def stem(pair: Pair, anchor: Anchor) -> Anchor:
    """Without the genitive's ending of both sides: what replaces a word can have one, too."""
    (begin, end), (first, last) = anchor
    ours, theirs = words_of(pair, anchor)
    if ours.endswith(("'s", "’s")) and theirs.endswith("s"):
        return Anchor((begin, end - 2), (first, last - 1))
    return anchor


def words_of(pair: Pair, anchor: Anchor) -> Pair:
    """What an anchor says on each side."""
    return pair[0][slice(*anchor.source)], pair[1][slice(*anchor.target)]


def _with(text: str, replacements: Iterable[tuple[tuple[int, int], str]]) -> str:
    for (start, end), new in sorted(replacements, reverse=True):
        text = text[:start] + new + text[end:]
    return text
