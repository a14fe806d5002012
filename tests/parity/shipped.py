"""The shipped model: its graphs, and PyTorch with the weights that the graphs hold."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from export.onnx_graphs import Graphs
from model.config import ModelConfig
from model.engine import TorchEngine
from model.transformer import Transformer
from serving.bundle import DECODER_STEP, ENCODER, GPU_DECODER_STEP, GPU_ENCODER, Bundle

BUNDLE = Path(__file__).parents[2] / "model_repository/translator/1"


def weights(bundle: Path, layers: int) -> dict[str, torch.Tensor]:
    """The parameters that both graphs hold, by the names of `Transformer`."""
    found: dict[str, torch.Tensor] = {}
    for side, name in (("encoder", ENCODER), ("decoder", DECODER_STEP)):
        for tensor in onnx.load(bundle / name).graph.initializer:
            array = torch.from_numpy(np.array(numpy_helper.to_array(tensor)))
            found.update(_named(side, tensor.name, array, layers))
    return found


QKV = ("query", "key", "value")
PLACES = {
    "output": "self_attention.output",
    "query": "cross_attention.query",
    "cross_output": "cross_attention.output",
    "feed_forward": "feed_forward",
}
"""Where a graph's own linear layers stand in a layer of the model."""


def _named(
    side: str, name: str, array: torch.Tensor, layers: int
) -> Iterator[tuple[str, torch.Tensor]]:
    """One parameter of a graph as those of the model that it was made of."""
    if name.startswith("transformer."):
        yield name.removeprefix("transformer."), array
    elif match := re.fullmatch(r"qkv\.(\d+)\.(weight|bias)", name):
        for kind, part in zip(QKV, array.chunk(3), strict=True):
            yield f"{side}.{match[1]}.self_attention.{kind}.{match[2]}", part.contiguous()
    elif match := re.fullmatch(r"cross\.(weight|bias)", name):
        for index, part in enumerate(array.chunk(2 * layers)):
            kind = QKV[1 + index % 2]
            yield f"decoder.{index // 2}.cross_attention.{kind}.{match[1]}", part.contiguous()
    elif match := re.fullmatch(rf"({'|'.join(PLACES)})\.(\d+)\.(.+)", name):
        yield f"{side}.{match[2]}.{PLACES[match[1]]}.{match[3]}", array


def shipped_gpu_graphs() -> Graphs:
    """The graphs for GPUs, in FP16."""
    return Graphs(*(onnx.load(BUNDLE / name) for name in (GPU_ENCODER, GPU_DECODER_STEP)))


def torch_engine(bundle: Bundle) -> TorchEngine:
    """PyTorch on the shipped weights."""
    return TorchEngine(torch_transformer(bundle))


def torch_transformer(bundle: Bundle) -> Transformer:
    """The model of the shipped weights, its sizes read from them."""
    state = weights(bundle.path, bundle.spec.decoder_layers)
    spec = bundle.spec
    layers = {key.split(".")[1] for key in state if key.startswith("encoder.")}
    config = dataclasses.replace(
        ModelConfig(),
        vocab_size=spec.vocab_size,
        d_model=spec.heads * spec.d_head,
        d_ff=len(state["encoder.0.feed_forward.inner.bias"]),
        heads=spec.heads,
        encoder_layers=len(layers),
        decoder_layers=spec.decoder_layers,
    )
    transformer = Transformer(config)
    state.pop("positions.rates", None)
    state["embedding.weight"] = state["embedding.weight"][: spec.vocab_size]  # whole groups in it
    transformer.load_state_dict(state)
    return transformer.eval()
