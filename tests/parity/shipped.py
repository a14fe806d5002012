"""The shipped model: its graphs, and PyTorch with the weights that the graphs hold."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from export.onnx_graphs import TRANSPOSED
from model.config import ModelConfig
from model.engine import TorchEngine
from model.transformer import Transformer
from serving.bundle import DECODER_STEP, ENCODER, Bundle

BUNDLE = Path(__file__).parents[2] / "model_repository/translator/1"


def weights(bundle: Path) -> dict[str, torch.Tensor]:
    """The parameters that both graphs hold, by the names of `Transformer`."""
    found: dict[str, torch.Tensor] = {}
    for name in (ENCODER, DECODER_STEP):
        for tensor in onnx.load(bundle / name).graph.initializer:
            if tensor.name.startswith("transformer."):
                array = np.array(numpy_helper.to_array(tensor))
                if tensor.name.endswith(TRANSPOSED):
                    array = np.ascontiguousarray(array.T)
                key = tensor.name.removesuffix(TRANSPOSED).removeprefix("transformer.")
                found[key] = torch.from_numpy(array)
    return found


def torch_engine(bundle: Bundle) -> TorchEngine:
    """PyTorch on the shipped weights, its sizes read from them."""
    state = weights(bundle.path)
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
    transformer.load_state_dict(state)
    return TorchEngine(transformer.eval())
