"""UTF-8, with a byte-order mark or without."""

from __future__ import annotations

import codecs
from pathlib import Path

from serving.errors import DragomanError


def read_text(path: Path | None, content: bytes) -> tuple[bool, str]:
    """Whether the content begins with a byte-order mark, and the text after it.

    Args:
        path: of the file, None for standard input; the message names it.
        content: its bytes.

    Raises:
        DragomanError: the content is not UTF-8; the message says where.
    """
    name = str(path) if path is not None else "standard input"
    marked = content.startswith(codecs.BOM_UTF8)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DragomanError(f"{name}: UTF-16, not UTF-8; convert it with: iconv -f UTF-16 -t UTF-8")
    try:
        return marked, content.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DragomanError(
            f"{name}, line {line}: not UTF-8 ({error.reason}); "
            "convert it, say with: iconv -f WINDOWS-1252 -t UTF-8"
        ) from error


def write_text(marked: bool, text: str) -> bytes:
    """The bytes of a text, after a byte-order mark where there was one."""
    return (codecs.BOM_UTF8 if marked else b"") + text.encode("utf-8")
