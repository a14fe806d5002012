"""`dragoman export`: a checkpoint to the ONNX graphs that are served."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import onnx

from export.aligner.graph import aligner_graph
from export.aligner.heads import parse
from export.aligner.proof import TOLERANCE, prove_aligner
from export.aligner.selection import choose_heads, word_pairs
from export.bundle_writer import write_bundle
from export.cpu_engine import PrecisionName, open_graphs, precise_graphs
from export.gpu.graphs import GpuPrecision, gpu_graphs
from export.gpu.half import half
from export.gpu.onnx_device import FixedEngine
from export.gpu.ranges import largest_activation
from export.material import Material
from export.native.config import HEADS
from export.native.in_process import native_engine
from export.native.repository import bundle_folder, write_native
from export.onnx_graphs import Graphs, export_graphs
from export.proof import prove
from export.quality import MAX_HALF_LOSS, MAX_LOSS, hold_to_fp32
from model.engine import TorchEngine
from serving.documents.numbers import Numbers
from serving.engine import Engine
from serving.engines.aligner import Aligner
from serving.shortlist import Shortlist

EXAMPLES = """\
examples:
  dragoman export runs/tatoeba-en-de/averaged model_repository/translator/1
      writes encoder.onnx, decoder_step.onnx, aligner.onnx, model.json and vocabulary.model there

  dragoman export CHECKPOINT FOLDER --text sentences.en.gz --sentences 500
      proves the graphs equal to PyTorch on sentences of your own before it writes

  dragoman export CHECKPOINT FOLDER --precision int8 --text dev.en.gz --reference dev.de.gz
      quantises, and writes only if BLEU against the references falls by 0.3 at most

  dragoman export CHECKPOINT FOLDER --precision int8 --shortlist --text dev.en.gz \\
      --reference dev.de.gz
      with the checkpoint's shortlist as well (see dragoman shortlist --help)

  dragoman export CHECKPOINT FOLDER --gpu fp16 --text dev.en.gz --reference dev.de.gz
      also writes the graphs that dragoman compile makes TensorRT plans of, into FOLDER/gpu

  dragoman export CHECKPOINT FOLDER --alignment-layer 2:3
      words are aligned by the third head of the second decoder layer, not by the heads that
      agree best with statistics (see dragoman bench alignment --help)

  dragoman export CHECKPOINT FOLDER --numbers 1,234.5 1.234,5
      numbers are kept, and written as in German

  cp -r model_repository native
  dragoman export CHECKPOINT native --native onnxruntime
      also writes encoder and decoder_step as models of Triton's onnxruntime backend, which
      native's translator then calls; --native tensorrt --gpu fp16 for GPUs
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("checkpoint", type=Path, help="folder of a trained model")
    parser.add_argument(
        "output",
        type=Path,
        help="folder to write, such as a model version's; with --native a model repository",
    )
    _add_graph_arguments(parser)
    parser.add_argument(
        "--text",
        type=Path,
        help="source sentences to prove the graphs on (default: those kept with the checkpoint)",
    )
    parser.add_argument(
        "--reference",
        type=Path,
        help="their translations, to hold the BLEU of what is not plain fp32 to that of fp32",
    )
    parser.add_argument(
        "--sentences",
        type=int,
        help="how many of them (default: 200, or all where there is a reference)",
    )


def _add_graph_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--precision",
        choices=("fp32", "int8"),
        default="fp32",
        help="of the graphs for CPUs; int8 is smaller and faster, and translates a little "
        "otherwise (default: %(default)s)",
    )
    parser.add_argument(
        "--shortlist",
        action="store_true",
        help="let a sentence on CPUs use only the pieces that the checkpoint's shortlist has for "
        "it, which is faster (default: the whole vocabulary)",
    )
    parser.add_argument(
        "--gpu",
        choices=("fp16", "fp32"),
        help="also write graphs for dragoman compile, in this precision (default: none)",
    )
    parser.add_argument(
        "--alignment-layer",
        metavar="LAYER[:HEAD]",
        default="auto",
        help="decoder layer, and head if one, whose attention aligns words, counted from 1; auto "
        "takes the heads whose links agree best with statistics on the sentences; none leaves out "
        "aligner.onnx, and nobody can ask for alignments (default: %(default)s)",
    )
    parser.add_argument(
        "--numbers",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="keep numbers figure by figure, whatever the model would make of them, and part them "
        "as the target language does: how each writes 1234.5, as in 1,234.5 1.234,5; for models "
        "that learned to copy symbols (default: numbers are the model's)",
    )
    parser.add_argument(
        "--native",
        choices=tuple(HEADS),
        metavar="BACKEND",
        help="also write both graphs as models of this backend of Triton's, onnxruntime or "
        "tensorrt, in the precision of --gpu or else fp32, for the translator to call (default: "
        "it runs graphs of its own)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Export, prove, write.

    Raises:
        DragomanError: there is no checkpoint of a Transformer or no text, numbers are told
            otherwise than by 1,234.5, or the proof fails.
    """
    numbers = Numbers(*arguments.numbers) if arguments.numbers else None
    folder = bundle_folder(arguments.output) if arguments.native else arguments.output
    given = (arguments.text, arguments.reference, arguments.sentences)
    material = Material.load(arguments.checkpoint, *given)
    shortlist = material.shortlist() if arguments.shortlist else None
    graphs, results = _for_cpus(material, arguments.precision, shortlist)
    aligner, found = _aligner(material, graphs, arguments.precision, arguments.alignment_layer)
    results += found
    gpu = None
    if arguments.gpu:
        gpu, found = _for_gpus(material, arguments.gpu)
        results += found
    if arguments.native:
        native, found = _for_backends(material, arguments.gpu or "fp32")
        results += found
        write_native(arguments.output, native, arguments.native)
    spec = TorchEngine(material.model).spec
    write_bundle(folder, graphs, spec, material.vocabulary, shortlist, gpu, aligner, numbers)
    _say(f"wrote {arguments.output}: {'; '.join(results)}")
    return 0


def _for_cpus(
    material: Material, precision: PrecisionName, shortlist: Shortlist | None
) -> tuple[Graphs, list[str]]:
    """Graphs for ONNX Runtime, and what was proven of them."""
    _say(f"tracing encoder and decoder step in {precision}")
    spec = TorchEngine(material.model).spec
    sample = material.sample() if precision == "int8" else []
    graphs = precise_graphs(material.model, precision, sample, shortlist is not None)
    results = []
    if precision == "fp32":
        whole = Shortlist.whole(material.text.vocab_size) if shortlist else None
        results.append(_equal(material, open_graphs(graphs, spec, shortlist=whole)))
    if precision == "int8" or shortlist:
        name = precision.upper() + (" with the shortlist" if shortlist else "")
        engine = open_graphs(graphs, spec, shortlist=shortlist)
        results.append(_held(material, name, engine, MAX_LOSS))
    return graphs, results


def _aligner(
    material: Material, graphs: Graphs, precision: PrecisionName, wanted: str
) -> tuple[onnx.ModelProto | None, list[str]]:
    """The graph that aligns words, and what was proven of it."""
    if wanted == "none":
        return None, []
    among = None if wanted == "auto" else parse(wanted, material.model.config)
    pairs = word_pairs(material)
    _say(f"choosing heads that align words, on {len(pairs)} sentences")
    heads, agreement = choose_heads(material.model, pairs, among)
    graph = aligner_graph(material.model, heads)
    contents = (graphs.encoder.SerializeToString(), graph.SerializeToString())
    aligner = Aligner(*contents, TorchEngine(material.model).spec)
    tolerance = TOLERANCE if precision == "fp32" else 1.0
    proof = prove_aligner(material.model, heads, aligner, pairs, tolerance)
    chosen = f"words aligned by {heads} (error rate {agreement.error_rate:.2f} beside statistics)"
    return graph, [chosen, str(proof)]


def _for_gpus(material: Material, precision: GpuPrecision) -> tuple[Graphs, list[str]]:
    """Graphs for TensorRT, and what was proven of them."""
    _say(f"tracing both for GPUs in {precision}")
    results = []
    if precision == "fp16":
        largest = largest_activation(material.model, material.sample())
        largest.check()
        results.append(str(largest))
    graphs = gpu_graphs(material.model, precision)
    engine = FixedEngine(graphs, TorchEngine(material.model).spec)
    if precision == "fp32":
        return graphs, [_equal(material, engine)]
    return graphs, [*results, _held(material, "FP16", engine, MAX_HALF_LOSS)]


def _for_backends(material: Material, precision: GpuPrecision) -> tuple[Graphs, list[str]]:
    """Portable graphs for Triton's own backends, and what was proven of them."""
    _say(f"tracing both for Triton's backends in {precision}")
    graphs = export_graphs(half(material.model) if precision == "fp16" else material.model)
    engine = native_engine(graphs, TorchEngine(material.model).spec)
    if precision == "fp32":
        return graphs, [_equal(material, engine)]
    return graphs, [_held(material, "FP16", engine, MAX_HALF_LOSS)]


def _equal(material: Material, engine: Engine) -> str:
    sources = material.sources
    _say(f"comparing with PyTorch on {len(sources)} sentences")
    return str(prove(TorchEngine(material.model), engine, sources))


def _held(material: Material, name: str, engine: Engine, allowed: float) -> str:
    _say(f"comparing {name} with FP32 on {len(material.lines)} sentences")
    return str(hold_to_fp32(material, name, engine, allowed))


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
