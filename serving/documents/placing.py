"""Where a sentence's tags go in its translation."""

from __future__ import annotations

import dataclasses
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from serving.alignment import Link
from serving.documents.segment import CLOSE, FIXED, OPEN, Mark

_MOST_LOOKS = 1_000_000
"""Tags times links beyond which links are not looked at: no text of a person has so many."""

Placed = tuple[int, str]
"""A place in the translation and the tag that goes before it."""


@dataclasses.dataclass(slots=True)
class _Node:
    """A tag that has no inside, or a pair of tags: one of them may be in another sentence."""

    start: int
    end: int
    opening: str = ""
    closing: str = ""
    is_open: bool = False
    begins_before: bool = False
    ends_after: bool = False
    children: list[_Node] = dataclasses.field(default_factory=list)
    target: tuple[int, int] = (0, 0)


def place(marks: Sequence[Mark], source: str, target: str, links: Sequence[Link]) -> list[Placed]:
    """Return every tag once, in order, nested as in the source.

    A pair of tags goes around all the words that come from those inside it, a single tag beside
    the word that it stood beside; by proportion where no link tells and no word is the same.
    Pairs side by side never overlap.

    Args:
        marks: of the source.
        source, target: a sentence without its tags and its translation.
        links: between their words; any nonsense is allowed.
    """
    links = [*links, *_same_words(source, target, links)]
    if len(marks) * len(links) > _MOST_LOOKS:
        links = []
    finder = _Finder(source, target, links)
    if any(mark.kind == FIXED for mark in marks):
        placed, least = [], 0
        for mark in marks:
            least = max(least, finder.point(mark.place))
            placed.append((least, mark.written))
        return placed
    root = _Node(0, len(source), children=_tree(marks, len(source)))
    root.target = (0, len(target))
    return list(_written(root, finder))


def _tree(marks: Sequence[Mark], length: int) -> list[_Node]:
    top: list[_Node] = []
    opened: list[_Node] = []
    for mark in marks:
        siblings = opened[-1].children if opened else top
        if mark.kind == OPEN:
            node = _Node(mark.place, length, mark.written, is_open=True, ends_after=True)
            siblings.append(node)
            opened.append(node)
        elif mark.kind == CLOSE and opened:
            node = opened.pop()
            node.end, node.closing, node.ends_after = mark.place, mark.written, False
        elif mark.kind == CLOSE:
            top = [_Node(0, mark.place, "", mark.written, begins_before=True, children=top)]
        else:
            siblings.append(_Node(mark.place, mark.place, mark.written))
    return top


def _written(root: _Node, finder: _Finder) -> Iterator[Placed]:
    """Tags in the order of the target, without recursion: markup may be nested without end."""
    stack: list[_Node | Placed] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            yield node
            continue
        start, end = node.target
        if node.opening:
            yield start, node.opening
        if node.closing:
            stack.append((end, node.closing))
        _place_children(node, finder)
        stack.extend(reversed(node.children))


def _place_children(parent: _Node, finder: _Finder) -> None:
    least, most = parent.target
    for node in parent.children:
        start, end = finder.span(node.start, node.end, node.is_open or node.closing != "")
        start = least if node.begins_before else min(max(start, least), most)
        end = most if node.ends_after else min(max(end, start), most)
        node.target = start, end
    # What began before the sentence stays first, what ends after it stays last.
    parent.children.sort(key=lambda n: (not n.begins_before, n.ends_after, n.target))
    at = least
    for node in parent.children:
        start = max(at, node.target[0])
        node.target = start, max(start, node.target[1])
        at = node.target[1]


class _Finder:
    """Finds the place in a translation for one in its source."""

    def __init__(self, source: str, target: str, links: Sequence[Link]) -> None:
        self._source, self._target = source, target
        ordered = sorted(links, key=lambda link: (link.source_start, link.source_end))
        size = len(target)
        self._links = [
            (link.source_start, link.source_end, *_within(link, size))
            for link in ordered
            if 0 <= link.source_start < link.source_end <= len(source)
        ]
        self._starts = [link[0] for link in self._links]
        self._word_starts = [word.start() for word in re.finditer(r"\S+", target)] or [0]
        self._word_ends = [word.end() for word in re.finditer(r"\S+", target)] or [size]

    def span(self, start: int, end: int, is_pair: bool) -> tuple[int, int]:
        """Of a pair of tags around characters of the source, or of one tag."""
        if not is_pair or start >= end:
            point = self.point(start)
            return point, point
        first = bisect_left(self._starts, start)
        while first > 0 and self._links[first - 1][1] > start:
            first -= 1
        inside = self._links[first : bisect_left(self._starts, end)]
        if inside:
            spans = [self._part(link, start, end) for link in inside]
            return min(span[0] for span in spans), max(span[1] for span in spans)
        begin = self._proportional(start, self._word_starts)
        return begin, max(begin, self._proportional(end, self._word_ends))

    def _part(self, link: tuple[int, int, int, int], start: int, end: int) -> tuple[int, int]:
        """The target word of a link; a part of it where only a part of the same word is meant."""
        first, last, begin, stop = link
        if self._source[first:last] != self._target[begin:stop]:
            return begin, stop
        return begin + max(0, start - first), stop - max(0, last - end)

    def point(self, place: int) -> int:
        """Of a single tag: behind its word where it is glued to it, else before the next one."""
        source = self._source
        glued = place > 0 and not source[place - 1].isspace()
        if glued and (place >= len(source) or source[place].isspace()):
            at = bisect_left(self._starts, place) - 1
            return self._links[at][3] if at >= 0 else self._proportional(place, self._word_ends)
        at = bisect_left(self._starts, place)
        if at < len(self._links):
            return self._links[at][2]
        return self._proportional(place, self._word_starts)

    def _proportional(self, place: int, borders: Sequence[int]) -> int:
        if place <= 0:
            return 0
        if place >= len(self._source):
            return len(self._target)
        wanted = round(place / len(self._source) * len(self._target))
        at = bisect_right(borders, wanted)
        near = borders[max(0, at - 1) : at + 1]
        return min(near, key=lambda border: abs(border - wanted))


def _same_words(source: str, target: str, links: Sequence[Link]) -> Iterator[Link]:
    """Link words without links that stand once in both texts: names and numbers."""
    linked = {
        i for link in links for i in range(link.source_start, min(link.source_end, len(source)))
    }
    words = [_once(re.finditer(r"\w+", text)) for text in (source, target)]
    for word, (start, end) in words[0].items():
        if word in words[1] and start not in linked:
            yield Link(start, end, *words[1][word])


def _once(words: Iterable[re.Match[str]]) -> dict[str, tuple[int, int]]:
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for word in words:
        found[word.group()].append(word.span())
    return {word: spans[0] for word, spans in found.items() if len(spans) == 1}


def _within(link: Link, size: int) -> tuple[int, int]:
    start = min(max(link.target_start, 0), size)
    return start, min(max(link.target_end, start), size)
