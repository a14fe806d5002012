"""What every format has in common."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Protocol

_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


@dataclasses.dataclass(frozen=True)
class Segment:
    """A text of a file that is translated by itself.

    Attributes:
        text: what to translate.
        markup: whether it holds tags, so that it is translated as HTML.
    """

    text: str
    markup: bool = False


def segment_of(text: str) -> Segment:
    """The segment of a text in which there may be tags."""
    return Segment(text, markup=_TAG.search(text) is not None)


def tags_of(text: str) -> list[tuple[int, int]]:
    """Where the tags of a text begin and end."""
    return [found.span() for found in _TAG.finditer(text)]


class Document(Protocol):
    """A file that was read: its texts, and everything else as it was."""

    @property
    def segments(self) -> Sequence[Segment]:
        """The texts, in the order of the file."""
        ...

    def write(self, translations: Sequence[str]) -> str:
        """The file with a translation in the place of each text."""
        ...
