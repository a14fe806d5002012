"""`dragoman bench random`: a model repository of random weights and a fixed output length."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.fixed_length import MOST_TOKENS, fixed_length_model
from bench.served.own_repository import SHIPPED
from export.bundle_writer import write_bundle
from export.cpu_engine import open_graphs, precise_graphs
from export.proof import ProofError
from model.config import PRESETS, ModelConfig
from model.engine import engine_spec
from serving.engine import Engine
from serving.errors import DragomanError
from serving.options import DecodingOptions
from serving.search import search
from serving.text import VOCABULARY, TextProcessor

EXAMPLES = """\
examples:
  dragoman bench random build/random
  dragoman serve build/random
      a base model each of whose translations has 30 tokens, whatever the sentence says;
      then dragoman load measures the server and not the text

  dragoman bench random build/random-int8 --precision int8 --preset small --output-tokens 20
"""

SAMPLE, SAMPLE_TOKENS = 8, 25
"""Random sentences that set the scales of INT8, and that the proof translates."""

FIRST_WORD = 4
"""Ids below are special ones."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("output", type=Path, help="folder to write; it must not be there yet")
    parser.add_argument("--preset", choices=PRESETS, default="base", help="(default: base)")
    parser.add_argument(
        "--vocabulary",
        type=Path,
        default=SHIPPED / "1" / VOCABULARY,
        metavar="FILE",
        help="a SentencePiece model (default: the shipped model's, of 6,000 pieces)",
    )
    parser.add_argument(
        "--output-tokens",
        type=int,
        default=30,
        metavar="N",
        help=f"of every translation, 1 to {MOST_TOKENS} (default: %(default)s)",
    )
    parser.add_argument(
        "--precision", choices=("fp32", "int8"), default="fp32", help="(default: fp32)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the weights (default: 0)")


def run(arguments: argparse.Namespace) -> int:
    """Make the model, prove its length, write.

    Raises:
        DragomanError: the folder is there, or there is no vocabulary or no such length.
    """
    if arguments.output.exists():
        raise DragomanError(f"{arguments.output} is there already; name another folder")
    vocabulary = TextProcessor.load(arguments.vocabulary)
    values = {"preset": arguments.preset, "positions": "learned"}
    config = ModelConfig.from_dict({**values, "vocab_size": vocabulary.vocab_size})
    model = fixed_length_model(config, arguments.output_tokens, arguments.seed)
    sample = _random_sentences(config)
    print(f"tracing a {arguments.preset} model in {arguments.precision}", file=sys.stderr)
    graphs = precise_graphs(model, arguments.precision, sample)
    _prove(open_graphs(graphs, engine_spec(model)), sample, arguments.output_tokens)
    ignored = shutil.ignore_patterns("__pycache__", "*.onnx", "*.json", "gpu", "MODEL_CARD.md")
    shutil.copytree(SHIPPED.parent, arguments.output, ignore=ignored)
    bundle = arguments.output / SHIPPED.name / "1"
    write_bundle(bundle, graphs, engine_spec(model), arguments.vocabulary)
    size = sum(parameter.numel() for parameter in model.parameters())
    print(
        f"wrote {arguments.output}: {size / 1e6:.1f} M random parameters, {arguments.precision}; "
        f"every translation has {arguments.output_tokens} tokens"
    )
    return 0


def _random_sentences(config: ModelConfig) -> list[list[int]]:
    """Of one piece and of as many as `SAMPLE_TOKENS`."""
    random = np.random.default_rng(1)
    lengths = np.linspace(1, SAMPLE_TOKENS, SAMPLE).astype(int)
    rows = [random.integers(FIRST_WORD, config.vocab_size, n).tolist() for n in lengths]
    return [[*row, config.eos_id] for row in rows]


def _prove(engine: Engine, sentences: Sequence[Sequence[int]], tokens: int) -> None:
    """Raise ProofError unless every hypothesis has exactly so many tokens and ended by itself."""
    for options in (DecodingOptions(1), DecodingOptions(4, n_best=4)):
        for hypotheses in search(engine, sentences, options):
            for found in hypotheses:
                if len(found.ids) != tokens or found.truncated:
                    raise ProofError(
                        f"a translation has {len(found.ids)} tokens instead of {tokens}; "
                        "try another --seed"
                    )
