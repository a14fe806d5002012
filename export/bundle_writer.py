"""Write a proven model where it is served from: graphs, specification, vocabulary."""

from __future__ import annotations

from pathlib import Path

import onnx

from export.onnx_graphs import Graphs
from serving.bundle import (
    ALIGNER,
    CONFIDENCE,
    DECODER_STEP,
    ENCODER,
    GPU_DECODER_STEP,
    GPU_ENCODER,
    SPEC,
    manifest,
)
from serving.documents.numbers import Numbers
from serving.engine import EngineSpec
from serving.shortlist import SHORTLIST, Shortlist
from serving.text import VOCABULARY


def write_bundle(
    folder: Path,
    graphs: Graphs,
    spec: EngineSpec,
    vocabulary: Path,
    shortlist: Shortlist | None = None,
    gpu: Graphs | None = None,
    aligner: onnx.ModelProto | None = None,
    numbers: Numbers | None = None,
) -> None:
    """Write the files into `folder`, beside whatever else lies there.

    Each file appears whole. The specification comes last and holds the others' checksums, so
    that a mixture of two exports is refused when it is opened.
    """
    contents = {
        ENCODER: graphs.encoder.SerializeToString(),
        DECODER_STEP: graphs.decoder_step.SerializeToString(),
        VOCABULARY: vocabulary.read_bytes(),
    }
    if shortlist:
        contents[SHORTLIST] = shortlist.to_bytes()
    if aligner:
        contents[ALIGNER] = aligner.SerializeToString()
    if gpu:
        contents[GPU_ENCODER] = gpu.encoder.SerializeToString()
        contents[GPU_DECODER_STEP] = gpu.decoder_step.SerializeToString()
    contents[SPEC] = manifest(spec, contents, numbers).encode("utf-8")
    partials = {name: folder / f"{name}.partial" for name in contents}
    for name, content in contents.items():
        partials[name].parent.mkdir(parents=True, exist_ok=True)
        partials[name].write_bytes(content)
    for name, partial in partials.items():
        partial.replace(folder / name)
    for name in {SHORTLIST, ALIGNER, CONFIDENCE, GPU_ENCODER, GPU_DECODER_STEP} - set(contents):
        (folder / name).unlink(missing_ok=True)  # an earlier export's
