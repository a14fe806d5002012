"""`dragoman export`: a checkpoint to the ONNX graphs that are served."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from export.bundle_writer import write_bundle
from export.onnx_graphs import export_graphs
from export.proof import prove
from model.checkpoint import SAMPLE, load_text, load_transformer
from model.engine import TorchEngine
from serving.engines.onnx import OnnxEngine
from serving.errors import DragomanError
from serving.lines import read_lines
from serving.text import VOCABULARY

EXAMPLES = """\
examples:
  dragoman export runs/tatoeba-en-de/averaged model_repository/translator/1
      writes encoder.onnx, decoder_step.onnx, model.json and vocabulary.model there

  dragoman export CHECKPOINT FOLDER --text sentences.en.gz --sentences 500
      proves the graphs equal to PyTorch on sentences of your own before it writes
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("checkpoint", type=Path, help="folder of a trained model")
    parser.add_argument("output", type=Path, help="folder to write, such as a model version's")
    parser.add_argument(
        "--text",
        type=Path,
        help="source sentences to prove the graphs on (default: those kept with the checkpoint)",
    )
    parser.add_argument(
        "--sentences", type=int, default=200, help="how many of them (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Export, prove, write.

    Raises:
        DragomanError: there is no checkpoint of a Transformer or no text, or the proof fails.
    """
    model = load_transformer(arguments.checkpoint)
    text = load_text(arguments.checkpoint, model.config)
    path = arguments.text or arguments.checkpoint / SAMPLE
    if not path.exists():
        raise DragomanError(f"{path} does not exist; name source sentences with --text FILE")
    encoded = (text.encode(line) for line in read_lines(path))
    sentences = [ids for ids in encoded if ids][: arguments.sentences]
    _say("tracing encoder and decoder step")
    graphs = export_graphs(model)
    reference = TorchEngine(model)
    engine = OnnxEngine(
        graphs.encoder.SerializeToString(), graphs.decoder_step.SerializeToString(), reference.spec
    )
    _say(f"comparing with PyTorch on {len(sentences)} sentences")
    proof = prove(reference, engine, sentences)
    write_bundle(arguments.output, graphs, reference.spec, arguments.checkpoint / VOCABULARY)
    _say(
        f"wrote {arguments.output}: log-probabilities within {proof.largest_difference:.1e} over "
        f"{proof.steps} steps, identical translations with beams {proof.beams}"
    )
    return 0


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
