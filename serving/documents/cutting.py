"""Sentences that are too long, cut where it hurts least."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator


@dataclasses.dataclass(frozen=True, slots=True)
class Unit:
    """What is not cut: a word, a part of a huge one, or what is masked.

    Attributes:
        start, end: its characters.
        cost: its tokens.
        text: as a reader sees it.
    """

    start: int
    end: int
    cost: int
    text: str


def cut(units: Iterable[Unit], most: int) -> Iterator[list[Unit]]:
    """Yield the units in groups that cost at most so many tokens, or are one unit.

    Groups end where a clause does, if one does in their second half, else after a word.
    """
    group: list[Unit] = []
    cost = 0
    for unit in units:
        while group and cost + unit.cost > most:
            end = _border(group, cost)
            yield group[:end]
            group = group[end:]
            cost = sum(left.cost for left in group)
        group.append(unit)
        cost += unit.cost
    if group:
        yield group


def _border(group: list[Unit], cost: int) -> int:
    """How many units of a full group to take."""
    for signs in (";:；：", "–—-", ",،、，", ""):
        left = cost
        for end in range(len(group), 0, -1):
            if left < cost / 2:
                break
            if _ends(group, end, signs):
                return end
            left -= group[end - 1].cost
    return len(group)


def _ends(group: list[Unit], end: int, signs: str) -> bool:
    """Whether such a sign, or if there is none to look for a word, ends before a place."""
    last = group[end - 1]
    if signs:
        return last.text[-1:] in tuple(signs)
    return end == len(group) or group[end].start > last.end
