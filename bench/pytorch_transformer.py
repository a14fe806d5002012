"""The same Transformer on PyTorch's own layers, as its tutorials put it together."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from model.config import ModelConfig
from model.data.batches import Batch
from model.embedding import SharedEmbedding, SinusoidalPositions


class PytorchTransformer(nn.Module):
    """`nn.Transformer` between tied embeddings, trained on its logits of every position."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = SharedEmbedding(config.vocab_size, config.d_model)
        self.positions = SinusoidalPositions(config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.transformer = nn.Transformer(
            d_model=config.d_model,
            nhead=config.heads,
            num_encoder_layers=config.encoder_layers,
            num_decoder_layers=config.decoder_layers,
            dim_feedforward=config.d_ff,
            dropout=config.dropout,
            norm_first=config.norm == "pre",
            batch_first=True,
        )

    def embed(self, ids: Tensor) -> Tensor:
        """ids (B, T) -> (B, T, D)."""
        places = torch.arange(ids.shape[1], device=ids.device)
        embedded: Tensor = self.dropout(self.embedding(ids) + self.positions(places))
        return embedded

    def forward(self, batch: Batch, smoothing: float) -> Tensor:
        """Label-smoothed cross-entropy, summed over the batch's target tokens."""
        width, length = batch.source.shape[1], batch.shifted.shape[1]
        padding = torch.arange(width) >= batch.lengths[:, None]  # (B, S), True is hidden
        future = nn.Transformer.generate_square_subsequent_mask(length, dtype=torch.bool)
        hidden = self.transformer(
            self.embed(batch.source),
            self.embed(batch.shifted),
            tgt_mask=future,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        logits = self.embedding.project(hidden)  # (B, T, V)
        target = torch.full((batch.shifted.numel(),), self.config.pad_id)
        target[batch.counted] = batch.target
        return functional.cross_entropy(
            logits.flatten(0, 1),
            target,
            ignore_index=self.config.pad_id,
            label_smoothing=smoothing,
            reduction="sum",
        )
