"""A larger model that translates as a smaller one does: Net2Net (Chen, Goodfellow, Shlens 2016).

Speed of a base-size model on real sentences needs one that says sensible things and ends its
sentences; training one takes days. Every unit is doubled, and a layer that sees both copies
halves their weights; layers that are added pass on what they get.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from model.config import ModelConfig
from model.layers import DecoderLayer, EncoderLayer
from model.transformer import Transformer
from serving.errors import ConfigError

Layer = EncoderLayer | DecoderLayer


def widen(
    transformer: Transformer, encoder_layers: int = 6, decoder_layers: int = 6
) -> Transformer:
    """A model of twice the width, heads and feed-forward units, with as many layers as wanted.

    Args:
        transformer: as in the paper, with LayerNorm after each sub-layer.
        encoder_layers: of the new model.
        decoder_layers: of the new model.

    Returns:
        A model of the same logits, but for rounding, in evaluation mode.

    Raises:
        ConfigError: its norm comes first, or it has more layers than are wanted.
    """
    config = transformer.config
    if config.norm != "post":
        raise ConfigError("only a model with LayerNorm after each sub-layer can be widened")
    if encoder_layers < config.encoder_layers or decoder_layers < config.decoder_layers:
        raise ConfigError(
            f"the model has {config.encoder_layers} and {config.decoder_layers} layers already"
        )
    wide = Transformer(_wide_config(config, encoder_layers, decoder_layers)).eval()
    with torch.no_grad():
        # The embedding's scale grows by sqrt(2), and logits are sums over twice as many products.
        wide.embedding.weight.copy_(_twice(transformer.embedding.weight, 1) / math.sqrt(2))
        positions = transformer.positions(torch.arange(config.max_positions))
        cast(Tensor, wide.positions.weight).copy_(_twice(positions.expand(-1, config.d_model), 1))
        _stack(transformer.encoder, wide.encoder)
        _stack(transformer.decoder, wide.decoder)
        last = wide.decoder_layers[-1].feed_forward_residual.norm
        last.weight.mul_(1 / math.sqrt(2))
        last.bias.mul_(1 / math.sqrt(2))
    return wide


def _wide_config(config: ModelConfig, encoder_layers: int, decoder_layers: int) -> ModelConfig:
    return dataclasses.replace(
        config,
        d_model=2 * config.d_model,
        d_ff=2 * config.d_ff,
        heads=2 * config.heads,
        encoder_layers=encoder_layers,
        decoder_layers=decoder_layers,
        positions="learned",  # the small model's, twice; sinusoids of the new width are others
    )


def _twice(tensor: Tensor, *axes: int) -> Tensor:
    for axis in axes:
        tensor = torch.cat((tensor, tensor), dim=axis)
    return tensor


def _stack(small: Sequence[nn.Module] | nn.ModuleList, wide: nn.ModuleList) -> None:
    """The small stack's layers, then ones whose sub-layers add nothing."""
    for source, target in zip(small, wide, strict=False):
        _widen_layer(source, target)
    added = list(wide)[len(small) :]
    if not added:
        return
    # LayerNorm leaves alone what has mean 0 and variance 1: gain and bias of the last small layer
    # move to the very end.
    residuals = [cast(Layer, layer).feed_forward_residual for layer in wide]
    last, end = residuals[len(small) - 1].norm, residuals[-1].norm
    gain, bias = copy.deepcopy(last.weight.data), copy.deepcopy(last.bias.data)
    nn.init.ones_(last.weight)
    nn.init.zeros_(last.bias)
    for layer in added:
        for name, module in layer.named_modules():
            if name.endswith((".output", ".outer")):
                nn.init.zeros_(cast(nn.Linear, module).weight)
                nn.init.zeros_(cast(nn.Linear, module).bias)
    end.weight.copy_(gain)
    end.bias.copy_(bias)


def _widen_layer(small: nn.Module, wide: nn.Module) -> None:
    targets = dict(wide.named_parameters())
    for name, parameter in small.named_parameters():
        if parameter.dim() == 2:
            targets[name].copy_(_twice(parameter, 0, 1) / 2)
        else:
            targets[name].copy_(_twice(parameter, 0))
