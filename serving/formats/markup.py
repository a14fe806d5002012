"""HTML and XML: the whole file is one text, in which the server finds what is language."""

from __future__ import annotations

from collections.abc import Sequence

from serving.formats.document import Segment


class Markup:
    """A file of HTML or XML; unchanged translations give it back byte for byte."""

    def __init__(self, text: str) -> None:
        self.segments = [Segment(text, markup=True)] if text.strip() else []
        self._text = text

    def write(self, translations: Sequence[str]) -> str:
        """The translation itself."""
        return translations[0] if self.segments else self._text
