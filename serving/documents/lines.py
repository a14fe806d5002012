"""Lines of a plain text, and how masks look to who splits it into sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from serving.documents.masks import Mask
from serving.documents.patterns import Span
from serving.documents.sentences import GOES_ON

_LINE = re.compile(r"[^\n\r\v\f\t\x1c-\x1e\x85\u2028\u2029]+")
"""No sentence goes over what ends a line, or over tabs: they part the cells of a table."""

_BEGIN = re.compile(
    r"[^\S\t]*(?:(?:[-*+•‣◦▪–—>#]+|\(?(?:(?P<number>\d{1,3})[.)]|[a-zA-Z]\)))(?=\s)\s*)*"
)
_TAG = re.compile(r"</?[A-Za-z\d]")


def lines(text: str) -> Iterator[Span]:
    """Yield where the text of each line begins, behind marks of lists and quotations, and ends."""
    for line in _LINE.finditer(text):
        begin = _BEGIN.match(text, line.start(), line.end())
        start = begin.end() if begin else line.start()
        if begin and begin["number"] and GOES_ON.match(text, start):
            start = line.start()
        if start < line.end():
            yield start, line.end()


def shown(text: str, masks: Iterable[Mask]) -> str:
    """The text with words, figures or brackets, which end no sentence, in the places of masks."""
    parts: list[str] = []
    done = 0
    for mask in masks:
        parts.append(text[done : mask.start])
        length = mask.end - mask.start
        if _TAG.match(text, mask.start):
            parts.append(("}" if text[mask.start + 1] == "/" else " ") * length)
        else:
            parts.append("X" + "x" * (length - 1) if length > 1 else "9")
        done = mask.end
    parts.append(text[done:])
    return re.sub(r"[\t\r\n\f\v]", " ", "".join(parts))
