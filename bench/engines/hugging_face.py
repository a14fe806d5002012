"""Hugging Face Transformers with our weights: its Marian is the same architecture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor
from transformers import MarianConfig, MarianMTModel

from bench.engines.contender import (
    NO_LENGTH_PENALTY,
    Ids,
    Precision,
    check_classic,
    position_table,
)
from model.config import ModelConfig
from model.transformer import Transformer
from serving.engine import pad
from serving.errors import ConfigError
from serving.options import EXTRA_TOKENS

EMBEDDINGS = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")

NAMES = {
    "self_attention.query": "self_attn.q_proj",
    "self_attention.key": "self_attn.k_proj",
    "self_attention.value": "self_attn.v_proj",
    "self_attention.output": "self_attn.out_proj",
    "self_attention_residual.norm": "self_attn_layer_norm",
    "cross_attention.query": "encoder_attn.q_proj",
    "cross_attention.key": "encoder_attn.k_proj",
    "cross_attention.value": "encoder_attn.v_proj",
    "cross_attention.output": "encoder_attn.out_proj",
    "cross_attention_residual.norm": "encoder_attn_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.outer": "fc2",
    "feed_forward_residual.norm": "final_layer_norm",
}
"""Modules of a layer: ours, and Marian's."""


class HuggingFaceEngine:
    """Its `generate` with a key-value cache, on PyTorch's threads."""

    def __init__(self, transformer: Transformer) -> None:
        self.name = "Hugging Face"
        self.precision: Precision = "fp32"
        self.model = marian(transformer)
        self._config = transformer.config

    def translate(
        self, sources: Sequence[Ids], beam_size: int, length: int | None = None
    ) -> list[list[int]]:
        """See `Contender`."""
        source, lengths = pad(sources, self._config.pad_id)
        mask = np.arange(source.shape[1]) < lengths[:, None]
        with torch.inference_mode():
            found = self.model.generate(
                input_ids=torch.from_numpy(source),
                attention_mask=torch.from_numpy(mask).long(),
                num_beams=beam_size,
                do_sample=False,
                length_penalty=NO_LENGTH_PENALTY if beam_size > 1 else None,  # greedy knows none
                min_new_tokens=length,
                max_new_tokens=length or source.shape[1] + EXTRA_TOKENS,
            )
        return [self._until_eos(row) for row in cast(Tensor, found).tolist()]

    def _until_eos(self, row: list[int]) -> list[int]:
        """Without the start, and without EOS and what follows it."""
        written = row[1:]
        eos = self._config.eos_id
        return written[: written.index(eos)] if eos in written else written


def marian(transformer: Transformer) -> MarianMTModel:
    """Our model as Marian's, with our position table instead of its own order of sinusoids.

    Raises:
        ConfigError: the model is pre-norm or strays from the classic architecture otherwise.
    """
    check_classic(transformer.config)
    if transformer.config.norm == "pre":
        raise ConfigError("Hugging Face's Marian has no pre-norm layers")
    model = MarianMTModel(_config(transformer.config, len(position_table(transformer))))
    model.load_state_dict(dict(_weights(transformer)) | _untrained(model))
    model.train(False)
    return model


def _config(config: ModelConfig, positions: int) -> MarianConfig:
    return MarianConfig(
        vocab_size=config.vocab_size,
        max_position_embeddings=positions,
        encoder_layers=config.encoder_layers,
        encoder_ffn_dim=config.d_ff,
        encoder_attention_heads=config.heads,
        decoder_layers=config.decoder_layers,
        decoder_ffn_dim=config.d_ff,
        decoder_attention_heads=config.heads,
        activation_function="relu",
        d_model=config.d_model,
        scale_embedding=True,
        pad_token_id=config.pad_id,
        bos_token_id=config.bos_id,
        eos_token_id=config.eos_id,
        decoder_start_token_id=config.bos_id,
        forced_eos_token_id=None,  # its default makes EOS of the last token
    )


def _weights(transformer: Transformer) -> Iterator[tuple[str, Tensor]]:
    """Marian's names with our tensors."""
    for name in EMBEDDINGS:
        yield name, transformer.embedding.weight.detach()
    for name in POSITIONS:
        yield name, position_table(transformer)
    for name, tensor in transformer.state_dict().items():
        side, _, rest = name.partition(".")
        if side in ("encoder", "decoder"):
            number, _, rest = rest.partition(".")
            module, _, kind = rest.rpartition(".")
            yield f"model.{side}.layers.{number}.{NAMES[module]}.{kind}", tensor


def _untrained(model: MarianMTModel) -> dict[str, Tensor]:
    """Its bias of logits, which stays 0."""
    return {"final_logits_bias": model.final_logits_bias}
