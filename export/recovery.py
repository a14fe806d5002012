"""The checkpoint that a bundle was exported from, read back from its graphs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import onnx
import torch
from onnx import numpy_helper
from torch import Tensor

from model.config import ModelConfig
from model.transformer import Transformer
from serving.bundle import DECODER_STEP, ENCODER, Bundle
from serving.errors import ConfigError
from serving.text import VOCABULARY

_CONFIG = "model_config"

_NAME = re.compile(
    r"(?P<layers>qkv|output|query|cross_output|feed_forward|cross)(?:\.(?P<number>\d+))?"
    r"(?P<inner>\.inner|\.outer)?\.(?P<kind>weight|bias)"
)
_ALONE = {
    "output": "self_attention.output",
    "query": "cross_attention.query",
    "cross_output": "cross_attention.output",
    "feed_forward": "feed_forward",
}
"""Layers of a graph that are one of the model's, by their names there."""


def note_config(encoder: onnx.ModelProto, config: ModelConfig) -> None:
    """Write into a graph which model it is of."""
    encoder.metadata_props.add(key=_CONFIG, value=json.dumps(config.to_dict()))


def recover(folder: Path) -> tuple[dict[str, Tensor], ModelConfig]:
    """Weights by their names in the model, and its configuration.

    Args:
        folder: of a bundle.

    Raises:
        ConfigError: it is no bundle, is of an earlier version that noted no configuration, or
            holds no FP32 weights.
    """
    Bundle.open(folder, only=(ENCODER, DECODER_STEP, VOCABULARY))
    encoder, step = (onnx.load(folder / name) for name in (ENCODER, DECODER_STEP))
    config = _config(encoder, folder)
    found = dict(_weights(step, "decoder", config)) | dict(_weights(encoder, "encoder", config))
    wanted = Transformer(config).state_dict()
    missing = [n for n, w in wanted.items() if n not in found or found[n].shape != w.shape]
    if missing:
        raise ConfigError(
            f"{folder} holds no FP32 weights of {missing[0]} and {len(missing) - 1} others; only "
            "a model that was exported with --precision fp32 can be recovered"
        )
    return {name: found[name] for name in wanted}, config


def _config(encoder: onnx.ModelProto, folder: Path) -> ModelConfig:
    noted = {note.key: note.value for note in encoder.metadata_props}
    if _CONFIG not in noted:
        raise ConfigError(
            f"{folder / ENCODER} does not say which model it is of: an earlier version exported it"
        )
    return ModelConfig.from_dict(json.loads(noted[_CONFIG]), f"{ENCODER}: {_CONFIG}")


def _weights(
    graph: onnx.ModelProto, side: str, config: ModelConfig
) -> Iterator[tuple[str, Tensor]]:
    for tensor in graph.graph.initializer:
        values = torch.from_numpy(numpy_helper.to_array(tensor).copy())
        own = tensor.name.removeprefix("transformer.")
        if own != tensor.name:
            yield own, values
            continue
        found = _NAME.fullmatch(tensor.name)
        names = list(_names(found, side, config)) if found else []
        if names and len(values) % len(names) == 0:
            for name, part in zip(names, values.chunk(len(names)), strict=True):
                yield name, part.contiguous()


def _names(found: re.Match[str], side: str, config: ModelConfig) -> Iterator[str]:
    """Of the model's layers that stand one after another in a layer of a graph."""
    layers, inner, kind = found["layers"], found["inner"] or "", found["kind"]
    if layers == "cross":
        for layer in range(config.decoder_layers):
            for name in ("key", "value"):
                yield f"decoder.{layer}.cross_attention.{name}.{kind}"
    elif layers == "qkv":
        for name in ("query", "key", "value"):
            yield f"{side}.{found['number']}.self_attention.{name}.{kind}"
    else:
        yield f"{side}.{found['number']}.{_ALONE[layers]}{inner}.{kind}"
