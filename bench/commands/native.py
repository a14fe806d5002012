"""`dragoman bench native`: what a step costs when its graph is a model of Triton's."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.engines.contender import endless_model
from bench.native.measure import measure
from bench.native.report import Report
from bench.native.repository import write_repository
from bench.served.server import launched
from export.native.in_process import native_engine
from export.onnx_graphs import export_graphs
from model.checkpoint import load_text, load_transformer
from model.config import PRESETS, ModelConfig
from model.engine import engine_spec
from model.transformer import Transformer
from serving.errors import DragomanError
from serving.lines import read_lines
from serving.machine import machine

EXAMPLES = """\
examples:
  dragoman bench native
      milliseconds of a step, of a base model of random weights: its portable graphs in process,
      the default engine behind Triton, and the graphs as models of Triton's, called through BLS

  dragoman bench native --checkpoint runs/tatoeba-en-de/averaged --text test.en.gz --json
      the same on real sentences
"""

SOURCE_TOKENS = 25
"""Of a random sentence."""

FIRST_WORD = 3
"""The first id that is no special one in a random model."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--checkpoint", type=Path, help="a trained model's folder")
    parser.add_argument("--text", type=Path, help="its source sentences, plain or .gz")
    parser.add_argument(
        "--preset", choices=PRESETS, default="base", help="a random model (default: base)"
    )
    parser.add_argument("--vocabulary-size", type=int, default=32000, help="(default: 32000)")
    parser.add_argument(
        "--sentences",
        type=int,
        nargs="+",
        default=[1, 8, 16],
        help="translated together, at most 32 (default: 1 8 16)",
    )
    parser.add_argument("--beam-size", type=int, default=4, help="(default: %(default)s)")
    parser.add_argument(
        "--rounds", type=int, default=5, help="after one warm-up (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print every round as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print.

    Raises:
        DragomanError: a file cannot be used, or the server does not start.
    """
    where = machine()
    model, name, sentences = _trained(arguments) if arguments.checkpoint else _random(arguments)
    batches = [sentences[:count] for count in arguments.sentences]
    graphs = export_graphs(model)
    engine = native_engine(graphs, engine_spec(model))
    with tempfile.TemporaryDirectory(prefix="dragoman-native-") as folder:
        repository = Path(folder) / "repository"
        write_repository(repository, model, graphs)
        with launched(repository, Path(folder) / "log") as address:
            cells = measure(address, engine, batches, arguments.beam_size, arguments.rounds)
    report = Report(where, name, cells)
    print(report.to_json() if arguments.json else report.to_markdown())
    return 0


def _random(arguments: argparse.Namespace) -> tuple[Transformer, str, list[list[int]]]:
    values = {"preset": arguments.preset, "vocab_size": arguments.vocabulary_size}
    config = ModelConfig.from_dict(values)
    shape = (max(arguments.sentences), SOURCE_TOKENS - 1)
    ids = np.random.default_rng(1).integers(FIRST_WORD, config.vocab_size, shape).tolist()
    name = f"{arguments.preset} model of random weights, V {config.vocab_size:,}"
    sentences = [[*row, config.eos_id] for row in ids]
    return endless_model(config), f"{name}, {SOURCE_TOKENS} source tokens", sentences


def _trained(arguments: argparse.Namespace) -> tuple[Transformer, str, list[list[int]]]:
    if not arguments.text:
        raise DragomanError("--checkpoint needs sentences for it: --text FILE")
    model = load_transformer(arguments.checkpoint)
    codec = load_text(arguments.checkpoint, model.config)
    sentences = [ids for ids in map(codec.encode, read_lines(arguments.text)) if ids]
    _check_count(sentences, max(arguments.sentences), arguments.text)
    return model, f"{arguments.checkpoint.name}, sentences of {arguments.text.name}", sentences


def _check_count(sentences: Sequence[Sequence[int]], needed: int, text: Path) -> None:
    if len(sentences) < needed:
        raise DragomanError(f"{text} has {len(sentences)} sentences; {needed} are to be translated")
