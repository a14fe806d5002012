"""Our weights in CTranslate2's public specification of Transformers."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from ctranslate2.converters.utils import fuse_linear
from ctranslate2.specs import TransformerSpec, common_spec
from torch import Tensor, nn

from bench.engines.contender import check_classic, position_table
from model.attention import MultiHeadAttention
from model.config import ModelConfig
from model.layers import EncoderLayer, FeedForward, Residual
from model.transformer import Transformer
from serving.shortlist import Shortlist


def tokens(config: ModelConfig) -> list[str]:
    """A made-up string for each id, since CTranslate2 takes and gives strings."""
    return [f"t{i}" for i in range(config.vocab_size)]


def vocabulary_map(config: ModelConfig, shortlist: Shortlist) -> str:
    """Our shortlist as CTranslate2's `vmap.txt`.

    A line holds a source token, a tab, and target tokens; no source token is every sentence's.
    """
    names = tokens(config)
    lines = ["\t" + " ".join(names[i] for i in shortlist.always)]
    for piece, name in enumerate(names):
        own = np.union1d(shortlist.of_piece(piece), [piece])
        lines.append(f"{name}\t" + " ".join(names[i] for i in own))
    return "\n".join(lines) + "\n"


def specification(transformer: Transformer, quantization: str) -> Any:
    """Our model as CTranslate2's specification, ready to be saved.

    Raises:
        ConfigError: the model strays from the classic architecture.
    """
    config = transformer.config
    check_classic(config)
    spec = TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers),
        config.heads,
        pre_norm=config.norm == "pre",
        activation=common_spec.Activation.RELU,
    )
    _set_encoder(spec.encoder, transformer)
    _set_decoder(spec.decoder, transformer)
    _set_vocabulary(spec, transformer)
    spec.validate()
    spec.optimize(quantization=quantization)
    return spec


def _set_vocabulary(spec: Any, transformer: Transformer) -> None:
    config = transformer.config
    names = tokens(config)
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.unk_token = names[config.pad_id]  # only for strings that are no token
    spec.config.bos_token = names[config.bos_id]
    spec.config.eos_token = names[config.eos_id]
    spec.config.decoder_start_token = names[config.bos_id]
    spec.config.add_source_bos = False
    spec.config.add_source_eos = False  # our sources are closed by EOS already
    norm = transformer.decoder_layers[-1].feed_forward_residual.norm
    spec.config.layer_norm_epsilon = norm.eps


def _set_encoder(spec: Any, transformer: Transformer) -> None:
    _set_embeddings(spec, spec.embeddings[0], transformer)
    if transformer.config.norm == "pre":
        _set_norm(spec.layer_norm, transformer.encoder_norm)
    for found, module in zip(spec.layer, transformer.encoder, strict=True):
        layer = cast(EncoderLayer, module)
        _set_self_attention(found.self_attention, layer.self_attention)
        _set_norm(found.self_attention.layer_norm, layer.self_attention_residual)
        _set_feed_forward(found.ffn, layer.feed_forward, layer.feed_forward_residual)


def _set_decoder(spec: Any, transformer: Transformer) -> None:
    _set_embeddings(spec, spec.embeddings, transformer)
    spec.projection.weight = _copy(transformer.embedding.weight)
    if transformer.config.norm == "pre":
        _set_norm(spec.layer_norm, transformer.decoder_norm)
    for found, layer in zip(spec.layer, transformer.decoder_layers, strict=True):
        _set_self_attention(found.self_attention, layer.self_attention)
        _set_norm(found.self_attention.layer_norm, layer.self_attention_residual)
        _set_cross_attention(found.attention, layer.cross_attention)
        _set_norm(found.attention.layer_norm, layer.cross_attention_residual)
        _set_feed_forward(found.ffn, layer.feed_forward, layer.feed_forward_residual)


def _set_embeddings(spec: Any, embeddings: Any, transformer: Transformer) -> None:
    embeddings.weight = _copy(transformer.embedding.weight)  # scaled by sqrt(D), as ours
    spec.position_encodings.encodings = position_table(transformer)


def _set_self_attention(spec: Any, attention: MultiHeadAttention) -> None:
    _set_fused(spec.linear[0], attention.query, attention.key, attention.value)
    _set_linear(spec.linear[1], attention.output)


def _set_cross_attention(spec: Any, attention: MultiHeadAttention) -> None:
    _set_linear(spec.linear[0], attention.query)
    _set_fused(spec.linear[1], attention.key, attention.value)
    _set_linear(spec.linear[2], attention.output)


def _set_feed_forward(spec: Any, network: FeedForward, residual: Residual) -> None:
    _set_linear(spec.linear_0, network.inner)
    _set_linear(spec.linear_1, network.outer)
    _set_norm(spec.layer_norm, residual)


def _set_fused(spec: Any, *layers: nn.Linear) -> None:
    parts = [common_spec.LinearSpec() for _ in layers]
    for part, layer in zip(parts, layers, strict=True):
        _set_linear(part, layer)
    fuse_linear(spec, parts)


def _set_linear(spec: Any, layer: nn.Linear) -> None:
    spec.weight = _copy(layer.weight)
    spec.bias = _copy(layer.bias)


def _set_norm(spec: Any, module: nn.Module) -> None:
    norm = cast(nn.LayerNorm, module.norm if isinstance(module, Residual) else module)
    spec.gamma = _copy(norm.weight)
    spec.beta = _copy(norm.bias)


def _copy(parameter: Tensor) -> Tensor:
    """CTranslate2 quantises in place: given the model's own tensor, it would spoil the model."""
    return parameter.detach().clone()
