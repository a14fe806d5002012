"""The whole encoder-decoder: embeddings, layers, tied output projection."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from model.config import ModelConfig
from model.dropout import Dropout
from model.embedding import LearnedPositions, NoPositions, SinusoidalPositions
from model.layers import DecoderLayer, EncoderLayer
from model.masks import encoder_mask, look_ahead_mask, padding_mask
from model.translation_model import TranslationModel


class Transformer(TranslationModel):
    """The model of the paper's figure 1."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.positions = _positions(config)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        # Pre-norm leaves the last residual sum unnormalised; post-norm needs nothing more.
        final = (lambda: nn.LayerNorm(config.d_model)) if config.norm == "pre" else nn.Identity
        self.encoder_norm = final()
        self.decoder_norm = final()
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    @property
    def decoder_layers(self) -> list[DecoderLayer]:
        """The decoder's layers, first to last."""
        return [cast(DecoderLayer, layer) for layer in self.decoder]

    def embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        """ids and positions (B, T) or positions (T,) -> (B, T, D)."""
        embedded: Tensor = self.dropout(self.embedding(ids) + self.positions(positions))
        return embedded

    def encode(self, source: Tensor, lengths: Tensor) -> Tensor:
        """source ids (B, S), lengths (B,) -> memory (B, S, D)."""
        pattern, span = self.config.encoder_attention, self.config.attention_span
        mask = encoder_mask(pattern, span, lengths, source.shape[1])
        x = self.embed(source, torch.arange(source.shape[1], device=source.device))
        for layer in self.encoder:
            x = layer(x, mask)
        memory: Tensor = self.encoder_norm(x)
        return memory

    def decode(self, target: Tensor, memory: Tensor, lengths: Tensor) -> Tensor:
        """The parallel training pass over all target positions at once.

        Args:
            target: (B, T) ids, shifted right: the first is BOS.
            memory: (B, S, D) from `encode`.
            lengths: (B,) source lengths.

        Returns:
            (B, T, D) hidden states, to be projected by `embedding.project`.
        """
        length = target.shape[1]
        self_mask = look_ahead_mask(length, target.device)
        cross_mask = padding_mask(lengths, memory.shape[1])
        x = self.embed(target, torch.arange(length, device=target.device))
        for layer in self.decoder:
            x = layer(x, memory, self_mask, cross_mask)
        hidden: Tensor = self.decoder_norm(x)
        return hidden

    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        """source (B, S), lengths (B,), target (B, T) -> hidden states (B, T, D)."""
        return self.decode(target, self.encode(source, lengths), lengths)


def _positions(config: ModelConfig) -> nn.Module:
    if config.positions == "learned":
        return LearnedPositions(config.max_positions, config.d_model)
    if config.positions == "none":
        return NoPositions()
    return SinusoidalPositions(config.d_model)
