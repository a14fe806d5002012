"""Where pairs come from: two line-aligned files, or one file of two columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

from serving.errors import DragomanError
from serving.lines import open_bytes

Row = Sequence[bytes | None]
"""The columns of a pair, source first; None stands for a line that is too long to be held."""

LONGEST_LINE = 1 << 16
"""Bytes; of a longer line no more than this is ever in memory."""

_BLOCK = 1 << 20


class Input(Protocol):
    """Pairs in the order of their lines."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that hold the pairs."""
        ...

    def rows(self) -> Iterator[Row]:
        """Every pair, undecoded.

        Raises:
            DragomanError: a file cannot be read.
        """
        ...

    def place(self, side: int, number: int, /) -> str:
        """File and line of the source (0) or target (1) of pair `number`, counted from 0."""
        ...


@dataclasses.dataclass(frozen=True)
class LineFiles:
    """Two files; line n of one translates line n of the other."""

    source: Path
    target: Path

    @property
    def files(self) -> tuple[Path, ...]:
        """Source, then target."""
        return (self.source, self.target)

    def rows(self) -> Iterator[Row]:
        """Every pair, undecoded, up to the end of the shorter file."""
        yield from zip(_lines(self.source), _lines(self.target), strict=False)

    def place(self, side: int, number: int) -> str:
        """File and line."""
        return f"{self.files[side]}, line {number + 1}"


@dataclasses.dataclass(frozen=True)
class ColumnFile:
    """One file of two columns with a tab between; a row may turn out to have fewer or more.

    Attributes:
        path: the file.
        swapped: the target is the first column.
    """

    path: Path
    swapped: bool = False

    @property
    def files(self) -> tuple[Path, ...]:
        """The one file."""
        return (self.path,)

    def rows(self) -> Iterator[Row]:
        """The columns of every line; a blank line has two empty ones."""
        return map(self._columns, _lines(self.path))

    def _columns(self, line: bytes | None) -> Row:
        if line is None:
            return (None, None)
        columns = line.split(b"\t") if line.strip() else [b"", b""]
        return columns[::-1] if self.swapped else columns

    def place(self, _side: int, number: int, /) -> str:
        """File and line; both sides share them."""
        return f"{self.path}, line {number + 1}"


def _lines(path: Path) -> Iterator[bytes | None]:
    with open_bytes(path) as stream:
        yield from bounded_lines(stream)


def bounded_lines(stream: BinaryIO, limit: int = LONGEST_LINE) -> Iterator[bytes | None]:
    """Lines without their ends; None for each that is longer than `limit` bytes."""
    while line := stream.readline(limit + 1):
        if len(line) <= limit or line.endswith(b"\n"):
            yield line.rstrip(b"\r\n")
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(_BLOCK)
        yield None


def count_pairs(source: Input) -> int:
    """Number of pairs.

    Raises:
        DragomanError: a file cannot be read, or two files differ in their numbers of lines.
    """
    counts = [_count_lines(path) for path in source.files]
    if len(set(counts)) > 1:
        both = " but ".join(
            f"{path} has {count} lines" for path, count in zip(source.files, counts, strict=True)
        )
        raise DragomanError(f"{both}: line n of one must translate line n of the other")
    return counts[0]


def _count_lines(path: Path) -> int:
    count, last = 0, b"\n"
    with open_bytes(path) as stream:
        while block := stream.read(_BLOCK):
            count += block.count(b"\n")
            last = block[-1:]
    return count + (last != b"\n")
