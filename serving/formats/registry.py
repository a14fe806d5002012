"""Which format a file has, and what reads it."""

from __future__ import annotations

from pathlib import Path

from serving.errors import DragomanError
from serving.formats.document import Document
from serving.formats.markup import Markup

TEXT = "text"
"""A text a line; not a `Document`, since a file of any size passes through."""

SUFFIXES = {
    TEXT: (".txt",),
    "html": (".html", ".htm", ".xhtml"),
    "xml": (".xml",),
    "po": (".po", ".pot"),
    "srt": (".srt",),
}
"""By format; a file of any other suffix is text."""


def format_of(path: Path | None) -> str:
    """The format that a file's name stands for; None is standard input."""
    if path is None:
        return TEXT
    suffixes = [suffix.lower() for suffix in path.suffixes]
    name = suffixes[-2:-1] if suffixes[-1:] == [".gz"] else suffixes[-1:]
    return next((key for key, known in SUFFIXES.items() if name and name[0] in known), TEXT)


def read_document(kind: str, text: str, again: bool = False, mark_fuzzy: bool = False) -> Document:
    """Read a file's text.

    Args:
        kind: one of `SUFFIXES`, not `TEXT`.
        text: of the file.
        again: of a catalogue, translate what has a translation as well.
        mark_fuzzy: of a catalogue, flag what is translated.

    Raises:
        DragomanError: the text is not in that format, or a package is not installed.
    """
    try:
        if kind == "po":
            from serving.formats.catalogue import Catalogue

            return Catalogue(text, again, mark_fuzzy)
        if kind == "srt":
            from serving.formats.subtitles import Subtitles

            return Subtitles(text)
    except ModuleNotFoundError as error:
        raise DragomanError(
            f"files of this format need the package {error.name!r}; "
            "install it with: pip install 'dragoman[files]'"
        ) from error
    return Markup(text)
