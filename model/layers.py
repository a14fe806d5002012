"""Encoder and decoder layers (paper, section 3.1 and figure 1)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from model.attention import MultiHeadAttention
from model.config import ModelConfig
from model.dropout import Dropout

Sublayer = Callable[[Tensor], Tensor]


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2, the same at every position (section 3.3)."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        projected: Tensor = self.outer(torch.relu(self.inner(x)))
        return projected


class Residual(nn.Module):
    """A sub-layer's residual connection, dropout and LayerNorm (sections 3.1 and 5.4).

    Post-norm is the paper's LayerNorm(x + Dropout(f(x))); pre-norm is x + Dropout(f(LayerNorm(x))).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = Dropout(config.dropout)
        self.pre = config.norm == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        if self.pre:
            kept: Tensor = x + self.dropout(sublayer(self.norm(x)))
            return kept
        normed: Tensor = self.norm(x + self.dropout(sublayer(x)))
        return normed


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.heads, config.d_k)
        self.feed_forward = FeedForward(config.d_model, config.d_ff)
        self.self_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def connect(self, x: Tensor, attend: Sublayer, feed_forward: Sublayer) -> Tensor:
        """The layer's wiring, whatever computes its sub-layers."""
        x = self.self_attention_residual(x, attend)
        out: Tensor = self.feed_forward_residual(x, feed_forward)
        return out

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (B, S, D), mask (B, 1, 1, S) -> (B, S, D)."""
        return self.connect(x, lambda y: self.self_attention(y, y, mask), self.feed_forward)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the encoder, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.heads, config.d_k)
        self.cross_attention = MultiHeadAttention(config.d_model, config.heads, config.d_k)
        self.feed_forward = FeedForward(config.d_model, config.d_ff)
        self.self_attention_residual = Residual(config)
        self.cross_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def connect(
        self, x: Tensor, self_attend: Sublayer, cross_attend: Sublayer, feed_forward: Sublayer
    ) -> Tensor:
        """The layer's wiring, whatever computes its sub-layers."""
        x = self.self_attention_residual(x, self_attend)
        x = self.cross_attention_residual(x, cross_attend)
        out: Tensor = self.feed_forward_residual(x, feed_forward)
        return out

    def forward(self, x: Tensor, memory: Tensor, self_mask: Tensor, cross_mask: Tensor) -> Tensor:
        """x (B, T, D), memory (B, S, D), masks to (B, H, T, T) and (B, H, T, S) -> (B, T, D)."""
        return self.connect(
            x,
            lambda y: self.self_attention(y, y, self_mask),
            lambda y: self.cross_attention(y, memory, cross_mask),
            self.feed_forward,
        )
