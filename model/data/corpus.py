"""Line-aligned parallel text, plain or gzipped."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from serving.errors import DragomanError
from serving.lines import read_lines


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Sentence pairs: `source[i]` is translated by `target[i]`."""

    source: list[str]
    target: list[str]

    def __len__(self) -> int:
        return len(self.source)

    @classmethod
    def read(cls, source: Path, target: Path) -> Corpus:
        """Read two files of the same number of lines.

        Raises:
            DragomanError: a file is missing, is not UTF-8 (names the line), or the two have
                different numbers of lines.
        """
        corpus = cls(read_lines(source), read_lines(target))
        if len(corpus.source) != len(corpus.target):
            raise DragomanError(
                f"{source} has {len(corpus.source)} lines but {target} has {len(corpus.target)}: "
                "line n of one must translate line n of the other"
            )
        return corpus
