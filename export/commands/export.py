"""`dragoman export`: a checkpoint to the ONNX graphs that are served."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from export.bundle_writer import write_bundle
from export.cpu_engine import PrecisionName, cpu_engine, open_graphs, precise_graphs
from export.gpu.half import half
from export.native.config import HEADS
from export.native.in_process import native_engine
from export.native.repository import bundle_folder, write_native
from export.onnx_graphs import Graphs, export_graphs
from export.proof import prove
from export.quality import compare
from model.checkpoint import SAMPLE, load_text, load_transformer
from model.engine import TorchEngine
from model.transformer import Transformer
from serving.engine import Engine
from serving.errors import DragomanError
from serving.lines import read_lines
from serving.options import DecodingOptions
from serving.shortlist import SHORTLIST, Shortlist
from serving.text import VOCABULARY, TextProcessor
from serving.translator import LocalTranslator

EXAMPLES = """\
examples:
  dragoman export runs/tatoeba-en-de/averaged model_repository/translator/1
      writes encoder.onnx, decoder_step.onnx, model.json and vocabulary.model there

  dragoman export CHECKPOINT FOLDER --text sentences.en.gz --sentences 500
      proves the graphs equal to PyTorch on sentences of your own before it writes

  dragoman export CHECKPOINT FOLDER --precision int8 --text dev.en.gz --reference dev.de.gz
      quantises, and writes only if BLEU against the references falls by 0.3 at most

  dragoman export CHECKPOINT FOLDER --precision int8 --shortlist --text dev.en.gz \\
      --reference dev.de.gz
      with the checkpoint's shortlist as well (see dragoman shortlist --help)

  cp -r model_repository native
  dragoman export CHECKPOINT native --native onnxruntime
      also writes encoder and decoder_step as models of Triton's onnxruntime backend, which
      native's translator then calls; --native tensorrt --precision fp16 for GPUs
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("checkpoint", type=Path, help="folder of a trained model")
    parser.add_argument(
        "output",
        type=Path,
        help="folder to write, such as a model version's; with --native a model repository",
    )
    parser.add_argument(
        "--precision",
        choices=("fp32", "fp16", "int8"),
        default="fp32",
        help="int8 is smaller and faster, and translates a little otherwise; fp16 is for the "
        "graphs of --native (default: %(default)s)",
    )
    parser.add_argument(
        "--native",
        choices=tuple(HEADS),
        metavar="BACKEND",
        help="also write both graphs as models of this backend of Triton's, onnxruntime or "
        "tensorrt, for the translator to call (default: it runs graphs of its own)",
    )
    parser.add_argument(
        "--shortlist",
        action="store_true",
        help="let a sentence use only the pieces that the checkpoint's shortlist has for it, "
        "which is faster (default: the whole vocabulary)",
    )
    parser.add_argument(
        "--text",
        type=Path,
        help="source sentences to prove the graphs on (default: those kept with the checkpoint)",
    )
    parser.add_argument(
        "--reference",
        type=Path,
        help="their translations, to hold the BLEU of int8 or a shortlist to plain fp32's",
    )
    parser.add_argument(
        "--sentences",
        type=int,
        help="how many of them (default: 200, or all where there is a reference)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Export, prove, write.

    Raises:
        DragomanError: there is no checkpoint of a Transformer or no text, the proof fails, or
            options do not go together.
    """
    _check_together(arguments)
    folder = bundle_folder(arguments.output) if arguments.native else arguments.output
    model = load_transformer(arguments.checkpoint)
    text = load_text(arguments.checkpoint, model.config)
    shortlist = _shortlist(arguments, text) if arguments.shortlist else None
    lines, references = _lines(arguments)
    sentences = [ids for ids in map(text.encode, lines) if ids]
    precision: PrecisionName = "int8" if arguments.precision == "int8" else "fp32"
    _say(f"tracing encoder and decoder step in {precision}")
    sample = _sample(arguments.checkpoint, sentences, text)
    graphs = precise_graphs(model, precision, sample, arguments.shortlist)
    reference = TorchEngine(model)
    results = []
    if precision == "fp32":
        _say(f"comparing with PyTorch on {len(sentences)} sentences")
        whole = Shortlist.whole(text.vocab_size) if shortlist else None
        engine = open_graphs(graphs, reference.spec, shortlist=whole)
        results.append(str(prove(reference, engine, sentences)))
    if precision == "int8" or shortlist:
        engine = open_graphs(graphs, reference.spec, shortlist=shortlist)
        name = precision.upper() + (" with the shortlist" if shortlist else "")
        results.append(_quality(name, model, engine, text, lines, references))
    if arguments.native:
        _say(f"tracing the graphs of Triton's {arguments.native} in {arguments.precision}")
        native = export_graphs(half(model) if arguments.precision == "fp16" else model)
        results.append(_prove_native(arguments, native, model, text, lines, references))
        write_native(arguments.output, native, arguments.native)
    vocabulary = arguments.checkpoint / VOCABULARY
    write_bundle(folder, graphs, reference.spec, vocabulary, shortlist)
    _say(f"wrote {arguments.output}: {'; '.join(results)}")
    return 0


def _check_together(arguments: argparse.Namespace) -> None:
    if arguments.precision == "fp16" and not arguments.native:
        raise DragomanError("--precision fp16 is for graphs of Triton's backends: --native BACKEND")
    if arguments.native and (arguments.precision == "int8" or arguments.shortlist):
        raise DragomanError(
            "the graphs of --native are fp32 or fp16, with the whole vocabulary: "
            "leave out --precision int8 and --shortlist"
        )


def _prove_native(
    arguments: argparse.Namespace,
    graphs: Graphs,
    model: Transformer,
    text: TextProcessor,
    lines: Sequence[str],
    references: Sequence[str] | None,
) -> str:
    reference = TorchEngine(model)
    engine = native_engine(graphs, reference.spec)
    if arguments.precision == "fp16":
        return _quality("FP16", model, engine, text, lines, references)
    _say(f"comparing them with PyTorch on {len(lines)} sentences")
    return str(prove(reference, engine, [ids for ids in map(text.encode, lines) if ids]))


def _quality(
    name: str,
    model: Transformer,
    engine: Engine,
    text: TextProcessor,
    lines: Sequence[str],
    references: Sequence[str] | None,
) -> str:
    _say(f"comparing with FP32 on {len(lines)} sentences")
    fp32, other = (
        LocalTranslator(one, text).translate(lines, DecodingOptions())
        for one in (cpu_engine(model, "fp32", ()), engine)
    )
    quality = compare(name, fp32, other, references)
    quality.check()
    return str(quality)


def _shortlist(arguments: argparse.Namespace, text: TextProcessor) -> Shortlist:
    path = arguments.checkpoint / SHORTLIST
    if not path.exists():
        raise DragomanError(f"{path} does not exist; make it with dragoman shortlist")
    return Shortlist.load(path, text.vocab_size, text.eos_id)


def _lines(arguments: argparse.Namespace) -> tuple[list[str], list[str] | None]:
    """The sentences to prove on, and their translations if there are any."""
    if arguments.reference and not arguments.text:
        raise DragomanError("--reference needs the sentences that it translates: --text FILE")
    path = arguments.text or arguments.checkpoint / SAMPLE
    if not path.exists():
        raise DragomanError(f"{path} does not exist; name source sentences with --text FILE")
    lines = read_lines(path)
    if not arguments.reference:
        return lines[: arguments.sentences or 200], None
    references = read_lines(arguments.reference)
    if len(lines) != len(references):
        raise DragomanError(
            f"{path} has {len(lines)} lines and {arguments.reference} has {len(references)}"
        )
    return lines[: arguments.sentences], references[: arguments.sentences]


def _sample(
    checkpoint: Path, sentences: Sequence[Sequence[int]], text: TextProcessor
) -> list[Sequence[int]]:
    """What INT8 is calibrated on: what the checkpoint keeps, never what judges the result."""
    path = checkpoint / SAMPLE
    if not path.exists():
        return list(sentences)
    return [ids for ids in map(text.encode, read_lines(path)) if ids]


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
