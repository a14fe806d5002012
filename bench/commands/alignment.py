"""`dragoman bench alignment`: which cross-attention aligns words best."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import tqdm

from bench.alignment.measure import Measurement, Row, measure
from model.checkpoint import load_text, load_transformer
from model.data.corpus import Corpus
from model.diagonal import ITERATIONS, Silver, silver_links
from model.word_pairs import WordPair, casefolded
from serving.errors import DragomanError
from serving.words import words

EXAMPLES = """\
examples:
  dragoman bench alignment runs/tatoeba-en-de/averaged --source train.en.gz \\
      --target train.de.gz --test-source dev.en.gz --test-target dev.de.gz
      every layer and head on the pairs of the test files, held to an aligner that learned
      from the words of all of them
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("checkpoint", type=Path, help="folder of a trained model")
    parser.add_argument(
        "--source", type=Path, required=True, help="text that statistics learn from, plain or .gz"
    )
    parser.add_argument("--target", type=Path, required=True, help="its translation")
    parser.add_argument(
        "--test-source", type=Path, required=True, help="text to align, not trained on"
    )
    parser.add_argument("--test-target", type=Path, required=True, help="its translation")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print tables.

    Raises:
        DragomanError: checkpoint or text cannot be used; it says why.
    """
    model = load_transformer(arguments.checkpoint)
    text = load_text(arguments.checkpoint, model.config)
    test = Corpus.read(arguments.test_source, arguments.test_target)
    more = Corpus.read(arguments.source, arguments.target)
    pairs = [WordPair.of(text, *pair) for pair in zip(test.source, test.target, strict=True)]
    pairs = [pair for pair in pairs if pair.source and pair.target]
    if not pairs:
        raise DragomanError(f"{arguments.test_source} holds no pair of sentences")
    silver = _silver(pairs, more)
    with tqdm.tqdm(total=len(pairs), unit="pair", disable=None, file=sys.stderr) as bar:
        print(_markdown(measure(model, pairs, silver, bar.update)))
    return 0


def _silver(pairs: Sequence[WordPair], more: Corpus) -> list[Silver]:
    sources = [casefolded(pair.source_words) for pair in pairs]
    targets = [casefolded(pair.target_words) for pair in pairs]
    sources += [_words(line) for line in more.source]
    targets += [_words(line) for line in more.target]
    total = 2 * ITERATIONS
    with tqdm.tqdm(total=total, unit="iteration", disable=None, file=sys.stderr) as bar:
        return silver_links(sources, targets, len(pairs), bar.update)


def _words(line: str) -> list[str]:
    return casefolded([line[start:end] for start, end in words(line)])


def _markdown(found: Measurement) -> str:
    head = (
        f"{found.sentences} sentence pairs with {found.planted} names and numbers, of which the "
        f"statistical aligner links {found.evidence:.1%}"
    )
    best = found.heads[0].name
    return "\n".join(
        [
            *(head, "", *_table("heads", found.heads), ""),
            *(f"Rules for {best}:", "", *_table("link", found.rules)),
        ]
    )


def _table(name: str, rows: Sequence[Row]) -> list[str]:
    return [
        f"| {name} | AER | precision | recall | names and numbers |",
        "|---|---|---|---|---|",
        *(
            f"| {row.name} | {row.agreement.error_rate:.3f} | {row.agreement.precision:.3f} | "
            f"{row.agreement.recall:.3f} | {row.planted:.1%} |"
            for row in rows
        ),
    ]
