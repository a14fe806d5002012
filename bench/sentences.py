"""Sentence splitters on hard cases and on ordinary text."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from serving.documents.splitting import sentences

Split = Callable[[str], Sequence[str]]
_MARKS = re.compile(r"^(?:[-•*]|[a-z\d]{1,2}[.)])\s")


@dataclasses.dataclass(frozen=True)
class Case:
    """A text and its sentences."""

    text: str
    sentences: Sequence[str]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a splitter did.

    Attributes:
        name: of the library.
        missed: hard cases.
        found: share of the borders between ordinary sentences that it found, in percent.
        right: share of those it set that are such borders, in percent.
        speed: thousands of characters a second.
    """

    name: str
    missed: int
    found: float
    right: float
    speed: float


def cases(lines: Sequence[str]) -> list[Case]:
    """Cases as files hold them: "¦" ends a sentence, "⏎" a line; "# " begins a remark."""
    kept = [line for line in lines if line.strip() and not line.startswith("# ")]
    return [
        Case(line.replace("¦", "").replace("⏎", "\n"), _bare(line.replace("⏎", "\n").split("¦")))
        for line in kept
    ]


def _bare(parts: Sequence[str]) -> list[str]:
    """Sentences without white space around them and marks of lists before them."""
    stripped = (_MARKS.sub("", part.strip()) for part in parts)
    return [part for part in stripped if part]


def _own(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def _blingfire(module: Any) -> Split:
    def split(line: str) -> list[str]:
        return [line[start:end] for start, end in module.text_to_sentences_and_offsets(line)[1]]

    return split


def _pysbd(module: Any) -> Split:
    segment: Split = module.Segmenter(language="en", clean=False).segment
    return segment


def _sentence_splitter(module: Any) -> Split:
    split: Split = module.SentenceSplitter(language="en").split
    return split


def _sentencex(module: Any) -> Split:
    return lambda line: module.segment("en", line)


LIBRARIES = {
    "blingfire": _blingfire,
    "pysbd": _pysbd,
    "sentence_splitter": _sentence_splitter,
    "sentencex": _sentencex,
}


def _by_lines(split: Split) -> Split:
    """For libraries whose sentences go over line ends."""
    return lambda text: [part for line in text.split("\n") if line.strip() for part in split(line)]


def splitters() -> Iterator[tuple[str, Split]]:
    """Yield the installed libraries, each line by line, and our own."""
    for name, wrap in LIBRARIES.items():
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        yield name, _by_lines(wrap(module))
    yield "dragoman", _own


def measure(name: str, split: Split, hard: Sequence[Case], paragraphs: Sequence[Case]) -> Outcome:
    """Count what a splitter misses in hard cases and in ordinary paragraphs, and time it there."""
    missed = sum(_bare(split(case.text)) != case.sentences for case in hard)
    begin = time.perf_counter()
    parts = [split(case.text) for case in paragraphs]
    seconds = time.perf_counter() - begin
    wanted = {(i, end) for i, case in enumerate(paragraphs) for end in _ends(case.sentences)}
    found = {(i, end) for i, texts in enumerate(parts) for end in _ends(texts)}
    both = 100 * len(wanted & found)
    size = sum(len(case.text) for case in paragraphs)
    return Outcome(name, missed, both / len(wanted), both / len(found), size / seconds / 1000)


def _ends(parts: Sequence[str]) -> list[int]:
    """Where parts end, in characters that are no white space."""
    return list(itertools.accumulate(len("".join(part.split())) for part in parts if part.strip()))
