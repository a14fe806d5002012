"""Scaled dot-product and multi-head attention (paper, section 3.2)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

MASKED = -1e9
"""Score of a masked key: finite, so that a row never becomes NaN; exp() of it is exactly 0."""


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) V, equation 1 of the paper.

    Args:
        query: (B, H, T, D/H).
        key: (B, H, S, D/H).
        value: (B, H, S, D/H).
        mask: bool, broadcast to (B, H, T, S); True where the query may look.

    Returns:
        (B, H, T, D/H).
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (B, H, T, S)
    scores = scores.masked_fill(~mask, MASKED)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value


class MultiHeadAttention(nn.Module):
    """H attentions side by side, each on its own projection (paper, section 3.2.2).

    Keys and values are projected apart from the attention itself, so that a decoding
    step can keep them.
    """

    def __init__(self, d_model: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)

    def split(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, H, T, D/H)."""
        batch, length, width = x.shape
        return x.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

    def project_memory(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of what is attended to: (B, S, D) -> two of (B, H, S, D/H)."""
        return self.split(self.key(memory)), self.split(self.value(memory))

    def attend(self, x: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        """Attend from x (B, T, D) to projected keys and values (B, H, S, D/H) -> (B, T, D)."""
        query = self.split(self.query(x))
        context = scaled_dot_product_attention(query, key, value, mask)
        batch, heads, length, width = context.shape
        joined = context.transpose(1, 2).reshape(batch, length, heads * width)
        projected: Tensor = self.output(joined)
        return projected

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Attend from x (B, T, D) to memory (B, S, D) -> (B, T, D)."""
        key, value = self.project_memory(memory)
        return self.attend(x, key, value, mask)
