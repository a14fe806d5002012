"""A model of random weights each of whose translations is equally long.

Load on it is the same whatever the sentences say, and a run on another machine does the same work.
Nothing in the server knows: the model itself ends at a given position, by its table of positions.

An eighth of the width is set apart. No sub-layer of the decoder writes there, the embeddings are 0
there, and positions say one of two things: "go on", or, from the given one on, "end". A LayerNorm
shrinks what a sub-layer does not add to; its gain there makes up for that. EOS's embedding looks
there alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

from model.config import ModelConfig
from model.embedding import SinusoidalPositions
from model.layers import DecoderLayer
from model.transformer import Transformer
from serving.errors import ConfigError
from serving.options import max_output_length

SHARE = 8
"""One in so many units of the width is set apart."""

STRENGTH = 4.0
"""What a position says in each of these."""

GAIN = 2.0
"""Of LayerNorms there: more than a sub-layer adds to the deviation elsewhere."""

EOS_STRENGTH = 10.0
"""Sum of EOS's embedding there: its logit is about 40 at the end, -40 before; others are near 0."""

SHORTEST_SOURCE = 2
"""Tokens of a sentence of one piece, EOS included."""

MOST_TOKENS = max_output_length(SHORTEST_SOURCE) - 1
"""Longest output that the length limit does not cut off after so short a sentence."""


def fixed_length_model(config: ModelConfig, tokens: int, seed: int = 0) -> Transformer:
    """A model that ends every hypothesis after `tokens` tokens, EOS not counted.

    Args:
        config: its sizes; positions become learned ones.
        tokens: 1 to `MOST_TOKENS`.
        seed: of the weights.

    Raises:
        ConfigError: no such length, or LayerNorm comes first, which leaves sums to grow.
    """
    if not 1 <= tokens <= MOST_TOKENS:
        raise ConfigError(f"the output must have 1 to {MOST_TOKENS} tokens, not {tokens}")
    if config.norm != "post" or config.positions != "learned":
        raise ConfigError("LayerNorm must follow each sub-layer, and positions must be learned")
    torch.manual_seed(seed)
    model = Transformer(config).eval()
    apart = config.d_model // SHARE
    signs = torch.ones(apart)
    signs[1::2] = -1  # so that their mean is 0, which LayerNorm takes away
    with torch.no_grad():
        _write_positions(model, tokens, signs)
        embedding = model.embedding.weight
        embedding[:, :apart] = 0
        embedding[config.eos_id] = 0
        embedding[config.eos_id, :apart] = signs * EOS_STRENGTH / apart
        for layer in model.decoder_layers:
            _leave_alone(layer, apart)
    return model


def _write_positions(model: Transformer, tokens: int, signs: Tensor) -> None:
    config = model.config
    table = SinusoidalPositions(config.d_model)(torch.arange(config.max_positions))
    table[:tokens, : len(signs)] = -STRENGTH * signs
    table[tokens:, : len(signs)] = STRENGTH * signs
    model.positions.load_state_dict({"weight": table})


def _leave_alone(layer: DecoderLayer, apart: int) -> None:
    """Let no sub-layer write to the units set apart, and no norm lose them."""
    outputs = (layer.self_attention.output, layer.cross_attention.output, layer.feed_forward.outer)
    for output in outputs:
        output.weight[:apart] = 0
        output.bias[:apart] = 0
    residuals = (
        layer.self_attention_residual,
        layer.cross_attention_residual,
        layer.feed_forward_residual,
    )
    for residual in residuals:
        residual.norm.weight[:apart] = GAIN
