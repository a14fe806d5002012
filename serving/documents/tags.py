"""Which tags of a block belong inside a sentence, and which stand around it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from serving.documents.block import Tag
from serving.documents.segment import CLOSE, FIXED, OPEN, POINT

_KINDS = {"open": OPEN, "close": CLOSE, "point": POINT}


def tags_inside(tags: Sequence[Tag], places: Sequence[int], start: int, end: int) -> list[Tag]:
    """Return the tags of a stretch of a block that must move with its words.

    Tags around all of it stay where they are, and so do tags at its edges whose other half is
    elsewhere.

    Args:
        tags: of the block, in order.
        places: theirs.
        start, end: of the stretch.
    """
    first, last = bisect_right(places, start), bisect_left(places, end)
    inner_first, inner_last = first, max(first, last)
    while first > 0 and places[first - 1] == start and tags[first - 1].kind == "open":
        first -= 1
    last = inner_last
    while last < len(tags) and places[last] == end and tags[last].kind == "close":
        last += 1
    partners = _partners(tags, first, last)
    while first < inner_first and partners.get(first, last) >= inner_last:
        first += 1
    while last > inner_last and partners.get(last - 1, -1) < first:
        last -= 1
    return list(tags[first:last])


def _partners(tags: Sequence[Tag], first: int, last: int) -> dict[int, int]:
    """Indices of the other halves, as far as tags are rightly nested."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for i in range(first, last):
        if tags[i].kind == "open":
            opened.append(i)
        elif tags[i].kind == "close" and opened and tags[opened[-1]].name == tags[i].name:
            found[i] = opened.pop()
            found[found[i]] = i
    return found


def kinds(tags: Sequence[Tag]) -> list[int]:
    """Kinds of the marks of a sentence: all FIXED where its tags are wrongly nested.

    A closing tag that nothing in the sentence opens, before any open one, belongs to a pair that
    began before; one that is not closed to a pair that ends later.
    """
    opened: list[str] = []
    for tag in tags:
        if tag.kind == "open":
            opened.append(tag.name)
        elif tag.kind == "close" and opened and opened.pop() != tag.name:
            return [FIXED] * len(tags)
    return [_KINDS[tag.kind] for tag in tags]
