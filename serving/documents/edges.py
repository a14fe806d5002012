"""Masks that are set off at a sentence's edge, "{name}: ..." or "... (%s)", and need no model."""

from __future__ import annotations

import dataclasses
import re

from serving.documents.block import Block
from serving.documents.masks import Stretch

_AFTER = re.compile(r"[)\]]*(?:\s*[:–—|]|(?<=[)\]]))\s+")
_SPACE = re.compile(r"\s+$")
_BEFORE = re.compile(r"(?:\s*[:–—|]\s+|\s+)[(\[]+$|\s*[:–—|]\s+$")


def without_edges(block: Block, stretch: Stretch) -> Stretch:
    """A stretch without such masks and what sets them off; with tags in it, as it is."""
    if any(stretch.start <= place <= stretch.end for place in block.places):
        return stretch
    text, masks = block.text, list(stretch.masks)
    start, end = stretch.start, stretch.end
    while masks and masks[0].target is None and silent(text, start, masks[0].start):
        found = _AFTER.match(text, masks[0].end, end)
        if not found:
            break
        start = found.end()
        masks.pop(0)
    while masks and masks[-1].target is None and silent(text, masks[-1].end, end):
        before = text[start : masks[-1].start]
        found = (_SPACE if text[masks[-1].start] in "([" else _BEFORE).search(before)
        if not found:
            break
        end = start + found.start()
        masks.pop()
    return dataclasses.replace(stretch, start=start, end=end, masks=masks)


def silent(text: str, start: int, end: int) -> bool:
    """Whether there is no letter and no figure between two places."""
    return not any(map(str.isalnum, text[start:end]))
