"""Keeps the weights of every attention while a model runs."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from typing import cast

from torch import Tensor

from model.attention import MultiHeadAttention, attention_weights
from model.layers import EncoderLayer
from model.transformer import Transformer


class Kind(enum.StrEnum):
    """The three attentions of the paper's section 3.2.3."""

    ENCODER = "encoder"
    DECODER = "decoder"
    CROSS = "cross"


class Recorder:
    """Equation 1 written out, which keeps the weights of its latest call.

    Attributes:
        weights: (B, H, T, S), rows that sum to 1.
        visible: bool, (B, H, T, S); True where the query may look.
    """

    weights: Tensor
    visible: Tensor

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        """query (B, H, T, d_k), key (B, H, S, d_k), value, mask -> (B, H, T, d_v)."""
        self.weights = attention_weights(query, key, mask)
        self.visible = mask.expand(self.weights.shape)
        return self.weights @ value


@contextlib.contextmanager
def recording(transformer: Transformer) -> Iterator[dict[Kind, list[Recorder]]]:
    """Record all attentions of a model inside the `with` block, whatever computes them outside.

    Yields:
        The recorders of each kind, first layer to last. They hold weights once the model ran.
    """
    attentions = _attentions(transformer)
    modules = [module for layers in attentions.values() for module in layers]
    before = [module.attention for module in modules]
    recorders = {kind: [Recorder() for _ in layers] for kind, layers in attentions.items()}
    try:
        for kind, layers in attentions.items():
            for module, recorder in zip(layers, recorders[kind], strict=True):
                module.attention = recorder
        yield recorders
    finally:
        for module, attention in zip(modules, before, strict=True):
            module.attention = attention


def _attentions(transformer: Transformer) -> dict[Kind, list[MultiHeadAttention]]:
    encoder = [cast(EncoderLayer, layer) for layer in transformer.encoder]
    decoder = transformer.decoder_layers
    return {
        Kind.ENCODER: [layer.self_attention for layer in encoder],
        Kind.DECODER: [layer.self_attention for layer in decoder],
        Kind.CROSS: [layer.cross_attention for layer in decoder],
    }
