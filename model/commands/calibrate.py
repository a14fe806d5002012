"""`dragoman calibrate`: learn how far an exported model's translations can be trusted."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

import tqdm

from model.calibration import Reliability, fit
from model.data.corpus import Corpus
from model.evaluation import sentence_chrf
from serving.bundle import CONFIDENCE, Bundle, add_file, find_bundle
from serving.engine import Engine, default_workers
from serving.errors import DragomanError
from serving.options import DecodingOptions
from serving.search import search
from serving.text import TextCodec

LEAST = 100
"""Fewer translations say too little."""

EXAMPLES = """\
examples:
  dragoman calibrate model_repository --source dev.en.gz --target dev.de.gz
      translates dev.en.gz and writes confidence.json beside the graphs; a confidence of 0.6 then
      means that such translations score chrF 60 on average against a human's

  dragoman calibrate model_repository --source dev.en.gz --target dev.de.gz \\
      --test test.en.gz test.de.gz --test news.en.gz news.de.gz
      also prints how true that is on sentences it was not learned from
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bundle", type=Path, help="an exported model or a model repository")
    parser.add_argument(
        "--source", type=Path, required=True, help="text, plain or .gz, that was not trained on"
    )
    parser.add_argument("--target", type=Path, required=True, help="its translation")
    parser.add_argument(
        "--test",
        type=Path,
        nargs=2,
        action="append",
        default=[],
        metavar=("SOURCE", "TARGET"),
        help="other text and its translation, to hold the confidences to; may be repeated",
    )


@dataclasses.dataclass(frozen=True)
class _Translated:
    """Translations: their tokens' log-probabilities, and sentence chrF from 0 to 1."""

    token_scores: list[tuple[float, ...]]
    quality: list[float]


def run(arguments: argparse.Namespace) -> int:
    """Learn, write, and print how reliable it is.

    Raises:
        DragomanError: bundle or text cannot be used; it says why.
    """
    files = [(arguments.source, arguments.target), *arguments.test]
    corpora = [Corpus.read(source, target) for source, target in files]
    folder = find_bundle(arguments.bundle)
    bundle = Bundle.open(folder)
    workers = default_workers(0)
    engine = bundle.engine(workers=workers)
    codec = bundle.text_processor()
    learned, *tests = (_translated(engine, codec, corpus, workers) for corpus in corpora)
    if len(learned.quality) < LEAST:
        raise DragomanError(
            f"{arguments.source} gives {len(learned.quality)} translations; at least {LEAST} are "
            "needed to learn from"
        )
    confidence = fit(learned.token_scores, learned.quality)
    add_file(folder, CONFIDENCE, confidence.to_json().encode("utf-8"))
    print(f"wrote {folder / CONFIDENCE}", file=sys.stderr)
    for (name, _), found in zip(files, (learned, *tests), strict=True):
        sure = [confidence.of(scores) or 0.0 for scores in found.token_scores]
        print(f"\n{name}:\n\n{Reliability.of(sure, found.quality)}")
    return 0


def _translated(engine: Engine, codec: TextCodec, corpus: Corpus, workers: int) -> _Translated:
    """Translate with the default options; sentences that are blank on a side are left out."""
    sentences = [codec.encode(line) for line in corpus.source]
    with tqdm.tqdm(total=len(corpus), unit="line", disable=None, file=sys.stderr) as bar:
        bar.update(sum(not ids for ids in sentences))
        found = search(engine, sentences, DecodingOptions(), on_done=bar.update, workers=workers)
    best = [hypotheses[0] for hypotheses in found]
    kept = [
        (hypothesis.token_scores, codec.decode(hypothesis.ids), reference)
        for hypothesis, reference in zip(best, corpus.target, strict=True)
        if hypothesis.token_scores and reference.strip()
    ]
    return _Translated(
        [scores for scores, _, _ in kept],
        [sentence_chrf(text, reference) / 100 for _, text, reference in kept],
    )
