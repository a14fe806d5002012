"""Makes segments: what a model sees of a stretch, and what it takes to undo that."""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right

from serving.documents.block import Block
from serving.documents.capitals import lowered
from serving.documents.masks import Mask, Stretch
from serving.documents.segment import (
    CAPITAL_TARGET,
    KEPT,
    TARGET,
    Mark,
    Masked,
    Segment,
    Space,
)
from serving.documents.spelling import Spelling
from serving.documents.tags import kinds, tags_inside
from serving.text import TextCodec, normalise

WORDS = re.compile(r"[^\s\x00-\x1f\x7f-\x9f]+")
"""What a codec sees no space in."""


class SegmentBuilder:
    """Makes segments of stretches.

    Args:
        source: the whole text as it was written.
        codec: of the model that translates.
        spelling: its own.
        markup: whether the source is HTML or XML.
    """

    def __init__(self, source: str, codec: TextCodec, spelling: Spelling, markup: bool) -> None:
        self._source = source
        self._symbols = codec.symbols
        self._spelling = spelling
        self._markup = markup

    def build(self, block: Block, stretch: Stretch) -> tuple[Segment, int]:
        """The segment of a stretch, and its tokens, EOS included."""
        start, end = block.written(stretch.start, stretch.end)
        tags = tags_inside(block.tags, block.places, stretch.start, stretch.end)
        plain = block.text[stretch.start : stretch.end]
        if not stretch.masks and not tags and normalise(plain) == plain:  # nearly all
            text = plain.translate(self._spelling.table)
            small = lowered(text)
            ids, copied = self._spelling.there_and_back(small or text)
            segment = Segment(
                start, end, self._source[start:end], small or text, copied, capitals=bool(small)
            )
            return segment, len(ids)
        if tags:
            start, end = min(start, tags[0].start), max(end, tags[-1].end)
        builder = _Text()
        spaces = self._fill(builder, block, stretch)
        small = lowered(str(builder))
        text = small or str(builder)
        ids, copied = self._spelling.there_and_back(text)
        masked = [
            self._masked(block, stretch, mask, symbol)
            for mask, symbol in zip(stretch.masks, self._symbols, strict=False)
        ]
        marks = [
            Mark(builder.place(tag.place), self._source[tag.start : tag.end], kind)
            for tag, kind in zip(tags, kinds(tags), strict=True)
        ]
        source = self._source[start:end]
        segment = Segment(
            start, end, source, text, copied, masked, marks, spaces, capitals=bool(small)
        )
        return segment, len(ids)

    def _fill(self, text: _Text, block: Block, stretch: Stretch) -> list[Space]:
        """Write words and symbols with single spaces; return the special spaces."""
        spaces: list[Space] = []

        def space(start: int, end: int) -> None:
            if start < end:
                written = self._space(block, start, end)
                if written != " ":
                    spaces.append(Space(len(text), written))
                text.add(start, " ")

        done = stretch.start
        for mask, symbol in zip(
            [*stretch.masks, Mask(stretch.end, stretch.end)], [*self._symbols, ""], strict=False
        ):
            for word in WORDS.finditer(block.text, done, mask.start):
                space(done, word.start())
                text.add(word.start(), word.group().translate(self._spelling.table))
                done = word.end()
            space(done, mask.start)
            if mask.start < mask.end:
                text.add(mask.start, symbol, through=mask.end)
            done = mask.end
        return spaces

    def _space(self, block: Block, start: int, end: int) -> str:
        """White space as it was written; one space where a tag is in it."""
        if bisect_right(block.places, start) < bisect_left(block.places, end):
            return " "
        first, last = block.written(start, end)
        return self._source[first:last]

    def _masked(self, block: Block, stretch: Stretch, mask: Mask, symbol: str) -> Masked:
        if mask.target is None:
            start, end = block.written(mask.start, mask.end)
            return Masked(symbol, self._source[start:end], KEPT)
        first = next(filter(str.isalpha, block.text[stretch.start : stretch.end]), "")
        kind = CAPITAL_TARGET if first.isupper() else TARGET
        return Masked(symbol, self.escaped(mask.target), kind)

    def escaped(self, text: str) -> str:
        """A text of a model or a glossary, as it is written in this kind of text."""
        return html.escape(text, quote=False) if self._markup else text


class _Text:
    """A segment's text in the making, and where a block's characters stand in it."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._from: list[int] = []
        self._to: list[int] = []

    def __len__(self) -> int:
        return self._length

    def __str__(self) -> str:
        return "".join(self._parts)

    def add(self, place: int, text: str, through: int | None = None) -> None:
        """Add what stands for the characters from a place on; a symbol's end is told."""
        self._from.append(place)
        self._to.append(self._length)
        self._parts.append(text)
        self._length += len(text)
        if through is not None:
            self._from.append(through)
            self._to.append(self._length)

    def place(self, place: int) -> int:
        """Of a character of the block, in the text."""
        at = bisect_right(self._from, place) - 1
        if at < 0:
            return 0
        following = self._to[at + 1] if at + 1 < len(self._to) else self._length
        return min(self._to[at] + place - self._from[at], following)
