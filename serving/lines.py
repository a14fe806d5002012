"""Lines of UTF-8 text from files and streams; only "\\n" ends a line."""

from __future__ import annotations

import contextlib
import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from serving.errors import DragomanError


def read_lines(path: Path) -> list[str]:
    """All lines of a file, gzipped if its name ends in .gz.

    Raises:
        DragomanError: the file cannot be read, or a line is not UTF-8 (the message names it).
    """
    with open_bytes(path) as stream:
        return list(decode_lines(stream, str(path)))


@contextlib.contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a file, decompressed if its name ends in .gz; only reading belongs in the block.

    Raises:
        DragomanError: the file cannot be read, at first or further on.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            yield cast(BinaryIO, stream)
    except (OSError, EOFError, zlib.error) as error:
        raise DragomanError(f"cannot read {path}: {error}") from error


def decode_lines(stream: Iterable[bytes], name: str) -> Iterator[str]:
    """Lines of a binary stream as they come, without their ends.

    Raises:
        DragomanError: a line is not UTF-8; the message names stream and line.
    """
    for number, line in enumerate(stream, start=1):
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise DragomanError(f"{name}, line {number}: not UTF-8 ({error.reason})") from error
