"""A block cut into sentences, each with its masks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from serving.documents.block import Block
from serving.documents.lines import lines, shown
from serving.documents.masks import Mask, Masker, Stretch, split_at
from serving.documents.patterns import Span
from serving.documents.sentences import sentence_ends
from serving.documents.wishes import Wishes


def sentences(text: str) -> list[Span]:
    """Where the sentences of a plain text stand, with the space behind them."""
    return [(s.start, s.end) for s in stretches(Block(text), Masker(Wishes()), markup=False)]


def stretches(block: Block, masker: Masker, markup: bool) -> Iterator[Stretch]:
    """The sentences of a block with their masks."""
    masks = masker.masks(block.text, block.held)
    if markup:
        masks = split_at(masks, block.places)
        spans = [(0, len(block.text))]
    else:
        spans = list(lines(block.text))
        masks = split_at(masks, [place for span in spans for place in span])
    visible = shown(block.text, masks)
    at = 0
    for start, end in spans:
        cuts = [start, *(start + place for place in sentence_ends(visible[start:end])), end]
        for first, last in itertools.pairwise(cuts):
            while at < len(masks) and masks[at].end <= first:
                at += 1
            inside: list[Mask] = []
            while at < len(masks) and masks[at].start < last:
                inside.append(masks[at])
                at += 1
            yield Stretch(first, last, inside)
