"""Scaled dot-product and multi-head attention (paper, section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

MASKED = -1e9
"""Score of a masked key: finite, so that a row never becomes NaN; exp() of it is exactly 0."""

Attention = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""query (B, H, T, d_k), key (B, H, S, d_k), value (B, H, S, d_v), mask -> (B, H, T, d_v)."""


def attention_weights(query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)): how much each query takes of each key.

    Args:
        query: (B, H, T, d_k).
        key: (B, H, S, d_k).
        mask: bool, broadcast to (B, H, T, S); True where the query may look.

    Returns:
        (B, H, T, S), rows that sum to 1.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (B, H, T, S)
    return torch.softmax(scores.masked_fill(~mask, MASKED), dim=-1)


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) V, equation 1 of the paper, written out.

    Args:
        query: (B, H, T, d_k).
        key: (B, H, S, d_k).
        value: (B, H, S, d_v).
        mask: bool, broadcast to (B, H, T, S); True where the query may look.

    Returns:
        (B, H, T, d_v).
    """
    return attention_weights(query, key, mask) @ value


def fused_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """The same by PyTorch's fused kernels, which never write the (T, S) weights to memory."""
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)


class MultiHeadAttention(nn.Module):
    """H attentions side by side, each on its own projection (paper, section 3.2.2).

    Keys and values are projected apart from the attention itself, so that a decoding
    step can keep them.

    Attributes:
        attention: equation 1, however it is computed.
    """

    attention: Attention

    def __init__(self, d_model: int, heads: int, d_k: int | None = None) -> None:
        """Use d_k = d_model / heads unless another width of queries and keys is given."""
        super().__init__()
        self.heads = heads
        self.attention = scaled_dot_product_attention
        width = heads * d_k if d_k else d_model
        self.query = nn.Linear(d_model, width)
        self.key = nn.Linear(d_model, width)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)

    def split(self, x: Tensor) -> Tensor:
        """(B, T, W) -> (B, H, T, W/H)."""
        batch, length, width = x.shape
        return x.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

    def project_memory(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """What is attended to: (B, S, D) -> keys (B, H, S, d_k) and values (B, H, S, d_v)."""
        return self.split(self.key(memory)), self.split(self.value(memory))

    def attend(self, x: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        """Attend from x (B, T, D) to projected keys and values -> (B, T, D)."""
        query = self.split(self.query(x))
        context = self.attention(query, key, value, mask)
        batch, heads, length, width = context.shape
        joined = context.transpose(1, 2).reshape(batch, length, heads * width)
        projected: Tensor = self.output(joined)
        return projected

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Attend from x (B, T, D) to memory (B, S, D) -> (B, T, D)."""
        key, value = self.project_memory(memory)
        return self.attend(x, key, value, mask)


def use_fused_attention(model: nn.Module) -> None:
    """Let all attentions of a model use PyTorch's fused kernels, as training does."""
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.attention = fused_attention
