"""A text in sentences to translate and what stands between them."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence

from serving.alignment import Link
from serving.documents.block import Block
from serving.documents.joining import written
from serving.documents.markup import blocks
from serving.documents.masks import Masker
from serving.documents.numbers import Numbers
from serving.documents.segment import Segment
from serving.documents.segmenter import Segmenter
from serving.documents.splitting import stretches
from serving.documents.wishes import Wishes
from serving.errors import RequestError
from serving.text import TextCodec

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclasses.dataclass(frozen=True)
class Translated:
    """The translation of a segment, and the links between their words where there are any."""

    text: str
    links: Sequence[Link] | None = None


@dataclasses.dataclass(frozen=True)
class Document:
    """A text, cut.

    Attributes:
        parts: the segments, in order.
        between: what stands in the output before each of them, and after the last.
        markup: whether the text is HTML or XML.
        cuts: sentences that were longer than the limit.
    """

    parts: Sequence[Segment]
    between: Sequence[str]
    markup: bool = False
    cuts: int = 0

    @classmethod
    def parse(
        cls,
        text: str,
        wishes: Wishes,
        codec: TextCodec,
        limit: int,
        numbers: Numbers | None = None,
    ) -> Document:
        """Cut a text.

        Args:
            text: plain text, HTML or XML; any.
            wishes: its format, and what is not to be translated.
            codec: of the model that translates.
            limit: tokens of a segment, EOS included.
            numbers: how to write them; None leaves them to the model, but for amounts.

        Raises:
            RequestError: the text holds half a character, which no UTF-8 can.
        """
        if not text.isascii() and _SURROGATE.search(text):
            raise RequestError("text is not valid Unicode: it holds half of a surrogate pair")
        markup = wishes.format == "html"
        masker = Masker(wishes)
        segmenter = Segmenter(text, codec, limit, markup, numbers)
        parts: list[Segment] = []
        between: list[str] = [""]
        done = 0
        for block in blocks(text) if markup else [Block(text)]:
            for sentence in stretches(block, masker, markup):
                for part in segmenter.segments(block, sentence):
                    if isinstance(part, Segment):
                        between[-1] += text[done : part.start]
                        parts.append(part)
                        between.append("")
                        done = part.end
                    else:
                        start, end, target = part
                        between[-1] += text[done:start] + target
                        done = end
        between[-1] += text[done:]
        return cls(parts, between, markup, segmenter.cuts)

    @property
    def segments(self) -> Sequence[str]:
        """The texts to translate."""
        return [part.text for part in self.parts]

    @property
    def spans(self) -> Sequence[tuple[int, int]]:
        """Of each segment, in characters of the original text."""
        return [(part.start, part.end) for part in self.parts]

    @property
    def needs_links(self) -> bool:
        """Whether there are tags inside of segments."""
        return any(part.marks for part in self.parts)

    def join(self, translations: Sequence[Translated]) -> str:
        """Put translations in the places of the segments.

        Raises:
            ValueError: there are more or fewer of them.
            SymbolError: one lacks a symbol of its segment.
        """
        outputs = [
            self.output(part, translation)
            for part, translation in zip(self.parts, translations, strict=True)
        ]
        pairs = zip(self.between, [*outputs, ""], strict=True)
        return "".join(before + output for before, output in pairs)

    def output(self, part: Segment, translation: Translated) -> str:
        """What stands in the output for one segment, given its translation.

        Raises:
            SymbolError: it lacks a symbol of the segment.
        """
        return written(part, translation.text, translation.links or (), self.markup)

    def to_json(self) -> str:
        """A compact form, for `from_json`."""
        values = [list(self.between), [p.to_list() for p in self.parts], self.markup, self.cuts]
        return json.dumps(values, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Document:
        """The document of `to_json`."""
        between, parts, markup, cuts = json.loads(text)
        return cls([Segment.from_list(part) for part in parts], between, markup, cuts)
