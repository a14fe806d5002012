"""Sentences of a block as segments: masked, of few enough symbols, and short enough."""

from __future__ import annotations

import dataclasses
import itertools
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from serving.documents.block import Block
from serving.documents.building import WORDS, SegmentBuilder
from serving.documents.cutting import Unit, cut
from serving.documents.edges import silent, without_edges
from serving.documents.masks import Mask, Stretch
from serving.documents.numbers import Numbers, amounts
from serving.documents.segment import Segment
from serving.documents.spelling import Spelling
from serving.text import TextCodec

_JOINERS = "\u200c\u200d"


class Segmenter:
    """Makes segments of the sentences of a text."""

    def __init__(
        self, source: str, codec: TextCodec, limit: int, markup: bool, numbers: Numbers | None
    ) -> None:
        self._codec = codec
        self._numbers = numbers.find if numbers else amounts
        self._limit = limit
        self._spelling = Spelling(codec)
        self._builder = SegmentBuilder(source, codec, self._spelling, markup)
        self.cuts = 0

    def segments(self, block: Block, sentence: Stretch) -> Iterator[Segment | tuple[int, int, str]]:
        """Yield the segments of a sentence; start, end and text of what a glossary translates
        where nothing else is to be translated."""
        self._block = block
        self._is_cut = False
        masks = self._with_unspelled(self._with_numbers(sentence))
        for stretch in self._few_symbols(dataclasses.replace(sentence, masks=masks)):
            yield from self._fitting(stretch, self._limit)
        self.cuts += self._is_cut

    # Numbers, and what a vocabulary cannot spell

    def _with_numbers(self, sentence: Stretch) -> Stretch:
        if not self._codec.symbols:  # a sentence would be cut at each
            return sentence
        masks = list(sentence.masks)
        for start, end in self._gaps(sentence):
            for number in self._numbers(self._block.text[start:end]):
                pieces = list(self._between_tags(start + number.start, start + number.end))
                if len(pieces) == 1:
                    pieces = [dataclasses.replace(pieces[0], target=number.target)]
                masks += pieces
        return dataclasses.replace(sentence, masks=sorted(masks, key=lambda mask: mask.start))

    def _with_unspelled(self, sentence: Stretch) -> list[Mask]:
        masks = list(sentence.masks)
        for start, end in self._gaps(sentence):
            text = self._block.text[start:end]
            if self._spelling.is_spelled(text.strip()):
                continue
            for word in WORDS.finditer(text):
                for first, last in self._spelling.unspelled(word.group()):
                    offset = start + word.start()
                    masks += self._between_tags(offset + first, offset + last)
        return self._united(sorted(masks, key=lambda mask: mask.start), glued=True)

    def _between_tags(self, start: int, end: int) -> Iterator[Mask]:
        first = bisect_right(self._block.places, start)
        last = bisect_left(self._block.places, end)
        borders = [start, *dict.fromkeys(self._block.places[first:last]), end]
        return (Mask(a, b) for a, b in itertools.pairwise(borders))

    @staticmethod
    def _gaps(stretch: Stretch) -> Iterator[tuple[int, int]]:
        """What no mask covers."""
        at = stretch.start
        for mask in stretch.masks:
            if at < mask.start:
                yield at, mask.start
            at = mask.end
        if at < stretch.end:
            yield at, stretch.end

    def _speaks(self, stretch: Stretch) -> bool:
        """Whether there is a letter or a figure outside of the masks."""
        return not all(self._is_silent(start, end) for start, end in self._gaps(stretch))

    def _is_silent(self, start: int, end: int) -> bool:
        return silent(self._block.text, start, end)

    # Symbols

    def _few_symbols(self, sentence: Stretch) -> Iterator[Stretch]:
        """The sentence in stretches of no more masks than there are symbols."""
        most = len(self._codec.symbols)
        masks = list(sentence.masks)
        if not most:
            at = sentence.start
            for mask in masks:
                yield Stretch(at, mask.start)
                yield Stretch(mask.start, mask.end, [mask])
                at = mask.end
            yield Stretch(at, sentence.end)
            return
        if len(masks) > most:
            masks = self._united(masks, glued=False)
        start = sentence.start
        for first in range(0, max(1, len(masks)), most):
            few = masks[first : first + most]
            following = masks[first + most : first + most + 1]
            end = self._border(few[-1].end, following[0].start) if following else sentence.end
            yield Stretch(start, end, few)
            start = end

    def _united(self, masks: Sequence[Mask], glued: bool) -> list[Mask]:
        """Neighbours with nothing between, or with no word, as one, where no tag is in the way."""
        found: list[Mask] = []
        for mask in masks:
            last = found[-1] if found else None
            if (
                last is not None
                and last.target is None
                and mask.target is None
                and (last.end == mask.start if glued else self._is_silent(last.end, mask.start))
                and bisect_right(self._block.places, last.start)
                == bisect_left(self._block.places, mask.end)
            ):
                found[-1] = Mask(last.start, mask.end)
            else:
                found.append(mask)
        return found

    def _border(self, start: int, end: int) -> int:
        """Where to cut between two masks: behind a clause, else at the last space."""
        gap = self._block.text[start:end]
        for expression in (r".*[;:,–—]\s", r".*\s"):
            found = re.match(expression, gap, re.DOTALL)
            if found:
                return start + found.end()
        return end

    def _targets(self, stretch: Stretch) -> Iterator[tuple[int, int, str]]:
        for mask in stretch.masks:
            if mask.target is not None:
                yield (
                    *self._block.written(mask.start, mask.end),
                    self._builder.escaped(mask.target),
                )

    # Length

    def _fitting(self, whole: Stretch, most: int) -> Iterator[Segment | tuple[int, int, str]]:
        """The segments of a stretch: one, unless it is too long."""
        stretch = self._trimmed(without_edges(self._block, whole))
        if stretch is None:
            return
        if not self._speaks(stretch):
            yield from self._targets(stretch)
            return
        segment, length = self._builder.build(self._block, stretch)
        groups = (
            [] if length <= self._limit else list(cut(self._units(stretch, most - 1), most - 1))
        )
        if len(groups) == 1 and len(groups[0]) == 1:
            groups = []
        if not groups:
            yield segment
            return
        self._is_cut = True
        for units in groups:
            start, end = units[0].start, units[-1].end
            masks = [mask for mask in stretch.masks if start <= mask.start < end]
            # A group's cost is a sum over words; the codec may need more for all of them.
            yield from self._fitting(Stretch(start, end, masks), max(2, most * 3 // 4))

    def _units(self, stretch: Stretch, most: int) -> Iterator[Unit]:
        """Words with the masks in them, and what they cost in tokens."""
        text = self._block.text
        masks = iter(stretch.masks)
        mask = next(masks, None)
        at = stretch.start
        while at < stretch.end:
            if mask is not None and mask.start <= at:
                yield Unit(at, mask.end, 2, text[at : mask.end])
                at, mask = mask.end, next(masks, None)
                continue
            stop = stretch.end if mask is None else mask.start
            word = WORDS.search(text, at, stop)
            if word is None:
                at = stop
                continue
            yield from self._word_units(word.start(), word.end(), most)
            at = word.end()

    def _word_units(self, start: int, end: int, most: int) -> Iterator[Unit]:
        while start < end:
            stop = min(end, start + 4 * most)
            while True:
                word = self._block.text[start:stop]
                cost = len(self._codec.encode(word.translate(self._spelling.table))) - 1
                if cost <= most or stop - start <= 1:
                    break
                stop = self._whole_sign(start, start + max(1, (stop - start) // 2))
            yield Unit(start, stop, max(cost, 1), word)
            start = stop

    def _whole_sign(self, start: int, stop: int) -> int:
        """A place to cut that parts no letter from its accents."""
        text = self._block.text
        for place in range(stop, max(start, stop - 20), -1):
            joined = unicodedata.category(text[place])[0] == "M" or text[place] in _JOINERS
            if not joined and text[place - 1] not in _JOINERS:
                return place
        return stop

    # The segment itself

    def _trimmed(self, stretch: Stretch) -> Stretch | None:
        """Without blanks at its edges; None for nothing but blanks."""
        start, end = stretch.start, stretch.end
        first = stretch.masks[0].start if stretch.masks else end
        last = stretch.masks[-1].end if stretch.masks else start
        while start < first and _is_blank(self._block.text[start]):
            start += 1
        while end > max(last, start) and _is_blank(self._block.text[end - 1]):
            end -= 1
        return Stretch(start, end, stretch.masks) if start < end else None


def _is_blank(character: str) -> bool:
    """White space, or nothing that a reader sees."""
    if character.isspace():
        return True
    return character not in _JOINERS and unicodedata.category(character) in ("Cc", "Cf")
