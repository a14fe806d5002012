"""A stretch of text as a reader sees it, and where its characters stand in what was written."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

from serving.documents.patterns import Span


@dataclasses.dataclass(frozen=True, slots=True)
class Tag:
    """A tag, or something else that no reader sees, inside a text.

    Attributes:
        place: the character of the block's text that it stands before.
        start, end: of what was written.
        kind: "open", "close" or "point" for what has no inside.
        name: of the element, in small letters.
    """

    place: int
    start: int
    end: int
    kind: str
    name: str = ""


@dataclasses.dataclass
class Block:
    """A text without tags.

    Attributes:
        text: as a reader sees it; U+FFFC stands for an element that is kept as it is.
        starts, ends: of each character, in what was written; None where that is the text itself.
        tags: inside it, in order.
        held: characters that stand for what is kept.
    """

    text: str
    starts: Sequence[int] | None = None
    ends: Sequence[int] | None = None
    tags: Sequence[Tag] = ()
    held: Sequence[Span] = ()

    @functools.cached_property
    def places(self) -> Sequence[int]:
        """Of the tags."""
        return [tag.place for tag in self.tags]

    def written(self, start: int, end: int) -> Span:
        """Where characters of the text, one at least, stand in what was written."""
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]
