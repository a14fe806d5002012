"""`dragoman bench robustness`: what becomes of translations when text is as people write it."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

from tqdm import tqdm

from bench.robustness.report import Clean, Row, row_of, to_json, to_markdown
from bench.robustness.variants import variants
from model.commands.evaluate import open_model
from model.data.corpus import Corpus
from serving.commands.search_options import add_search_arguments, search_options

EXAMPLES = """\
examples:
  dragoman bench robustness model_repository --source test.en.gz --reference test.de.gz
      translates the test set as it is, in capitals, without final marks, with placeholders and
      tags planted, and so on; prints scores, and whether everything was kept

  dragoman bench robustness 127.0.0.1:8001 --source test.en.gz --reference test.de.gz
      the same through a running server
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("model", help="a model repository, or host:port of a server")
    parser.add_argument("--source", type=Path, required=True, help="text, plain or .gz")
    parser.add_argument("--reference", type=Path, required=True, help="its translation")
    parser.add_argument("--sentences", type=int, metavar="N", help="take the first N")
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="a variant; may be repeated"
    )
    parser.add_argument("--seed", type=int, default=1, help="of what is planted (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to it")
    add_search_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Translate all variants and print the table.

    Raises:
        DragomanError: model or files cannot be used; it says why.
    """
    corpus = Corpus.read(arguments.source, arguments.reference)
    sources, references = (side[: arguments.sentences] for side in (corpus.source, corpus.target))
    chosen = [
        variant
        for variant in variants(sources, references, arguments.seed)
        if (not arguments.only or variant.name in (*arguments.only, "clean")) and variant.sources
    ]
    options = search_options(arguments)
    translator = open_model(arguments.model)
    rows: list[Row] = []
    clean: Clean | None = None
    total = sum(len(variant.sources) for variant in chosen)
    with tqdm(total=total, unit="line", disable=None, file=sys.stderr) as bar:
        for variant in chosen:
            bar.set_description(variant.name)
            wished = dataclasses.replace(options, format=variant.format)
            found = translator.translate(variant.sources, wished, on_done=bar.update)
            translations = [hypotheses[0].text for hypotheses in found]
            clean = clean or Clean(variant, translations)
            rows.append(row_of(variant, translations, clean))
    if arguments.json:
        arguments.json.write_text(to_json(rows), encoding="utf-8")
    print(to_markdown(rows))
    return 0
