"""The translation of a segment as it stands in the output."""

from __future__ import annotations

import html
import itertools
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from serving.alignment import Link
from serving.documents.placing import Placed, place
from serving.documents.segment import KEPT, Segment
from serving.documents.symbols import Edit, occurrences, symbol_edits, with_symbols

_PUNCTUATION = "\"'“”„‘’«»().,;:!?…[]"

_NO_BREAKS = str.maketrans(dict.fromkeys("\n\r\v\f\t\x1c\x1d\x1e\x85\u2028\u2029", " "))
"""A model may spell anything in bytes; a line stays a line."""


def written(segment: Segment, text: str, links: Sequence[Link], markup: bool) -> str:
    """Return what stands for a segment in the output, given its translation.

    A translation that is the source as the codec gives it back becomes the source, character for
    character.

    Raises:
        SymbolError: a symbol of the segment is not there exactly once.
    """
    if text == segment.copied and all(masked.kind == KEPT for masked in segment.masked):
        return segment.source
    text = text.translate(_NO_BREAKS)
    targets = occurrences(segment, text)
    edits = [*symbol_edits(segment, text, targets), *_space_edits(segment, text)]
    tags: list[Placed] = []
    if segment.marks:
        exact = with_symbols(segment, links, targets)
        tags = _outside(place(segment.marks, segment.text, text, exact), targets)
    plain = _Plain(text, markup, segment.capitals)
    return "".join(_edited(plain, sorted(edits, key=_order), tags))


def _order(edit: Edit) -> tuple[int, int]:
    return edit.start, edit.end


def _outside(tags: Sequence[Placed], targets: dict[str, tuple[int, int]]) -> list[Placed]:
    """No tag inside a symbol; places only grow, so that their order stays."""
    inside = {i: end for start, end in targets.values() for i in range(start + 1, end)}
    return [(inside.get(at, at), tag) for at, tag in tags]


def _space_edits(segment: Segment, text: str) -> Iterator[Edit]:
    """Special white space between the same two words as in the source."""
    special: dict[tuple[str, str], deque[str]] = defaultdict(deque)
    for space in segment.spaces:
        left = segment.text[: space.place].rpartition(" ")[2]
        right = segment.text[space.place + 1 :].partition(" ")[0]
        special[_neighbours(left, right)].append(space.written)
    if not special:
        return
    words = text.split(" ")
    at = -1
    for left, right in itertools.pairwise(words):
        at += len(left) + 1
        waiting = special.get(_neighbours(left, right))
        if waiting:
            yield Edit(at, at + 1, waiting.popleft())


def _neighbours(left: str, right: str) -> tuple[str, str]:
    return left.lstrip(_PUNCTUATION), right.rstrip(_PUNCTUATION)


class _Plain(NamedTuple):
    """The text of a translation, and how it is written."""

    text: str
    markup: bool
    capitals: bool

    def __call__(self, start: int, end: int) -> str:
        """Some of its characters, written."""
        plain = self.text[start:end]
        plain = plain.upper() if self.capitals else plain
        return html.escape(plain, quote=False) if self.markup else plain


def _edited(plain: _Plain, edits: Sequence[Edit], tags: Sequence[Placed]) -> Iterator[str]:
    """The pieces of the text with tags before and edits in the places of its characters."""
    done = tag = 0
    for edit in [*edits, Edit(len(plain.text), len(plain.text), "")]:
        if edit.start < done:
            continue  # a special space that a symbol has taken
        while tag < len(tags) and tags[tag][0] <= edit.start:
            yield plain(done, tags[tag][0])
            yield tags[tag][1]
            done = tags[tag][0]
            tag += 1
        yield plain(done, edit.start)
        yield edit.written
        done = edit.end
    yield "".join(written for _, written in tags[tag:])
