"""`dragoman bench sentences`: sentence splitters on hard cases, and how fast they are."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.sentences import LIBRARIES, Case, cases, measure, splitters
from serving.errors import DragomanError
from serving.lines import read_lines
from serving.machine import machine

EXAMPLES = """\
examples:
  dragoman bench sentences tests/unit/sentence_cases.txt newstest2014.en.gz
      ours, and those libraries that are installed: pip install dragoman[splitters]
"""

PARAGRAPH = 20
"""Sentences that are joined to one line of ordinary text."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("cases", type=Path, help='texts in which "¦" ends each sentence')
    parser.add_argument("text", type=Path, help="ordinary sentences, one a line, plain or .gz")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print.

    Ordinary sentences are joined to paragraphs; each line's end is a border to be found.

    Raises:
        DragomanError: a file cannot be read or is empty.
    """
    hard = cases(read_lines(arguments.cases))
    lines = read_lines(arguments.text)
    if not hard or not lines:
        raise DragomanError(f"{arguments.cases} or {arguments.text} is empty")
    groups = [lines[start : start + PARAGRAPH] for start in range(0, len(lines), PARAGRAPH)]
    paragraphs = [Case(" ".join(group), group) for group in groups]
    print(machine())
    print(f"| splitter | hard cases missed of {len(hard)} | borders found | right | kB/s |")
    print("|---|---|---|---|---|")
    found = [measure(name, split, hard, paragraphs) for name, split in splitters()]
    for out in found:
        print(
            f"| {out.name} | {out.missed} | {out.found:.1f} | {out.right:.1f} | {out.speed:,.0f} |"
        )
    for name in sorted(set(LIBRARIES) - {out.name for out in found}):
        print(f"{name} is not installed")
    return 0
