"""Token embeddings shared by source, target and output; sinusoidal and learned positions."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class SharedEmbedding(nn.Module):
    """One matrix for source, target and output projection (paper, section 3.4)."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        self.scale = math.sqrt(d_model)
        nn.init.normal_(self.weight, std=d_model**-0.5)

    def forward(self, ids: Tensor) -> Tensor:
        """ids (B, T) -> (B, T, D), scaled by sqrt(d_model)."""
        return functional.embedding(ids, self.weight) * self.scale

    def project(self, x: Tensor) -> Tensor:
        """x (..., D) -> logits (..., V)."""
        return functional.linear(x, self.weight)


class SinusoidalPositions(nn.Module):
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(...) (section 3.5).

    Computed, not looked up, so that there is no longest position.
    """

    rates: Tensor

    def __init__(self, d_model: int) -> None:
        super().__init__()
        exponents = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
        self.register_buffer("rates", (10000.0**-exponents).float(), persistent=False)

    def forward(self, positions: Tensor) -> Tensor:
        """positions (...,) -> (..., D)."""
        angles = positions[..., None].to(self.rates.dtype) * self.rates  # (..., D/2)
        pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)  # (..., D/2, 2)
        return pairs.flatten(-2)


class LearnedPositions(nn.Module):
    """A vector learned for each position (table 3, row E); the last serves all after it."""

    def __init__(self, positions: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(positions, d_model))
        nn.init.normal_(self.weight, std=0.02)  # as small as the differences of sinusoids

    def forward(self, positions: Tensor) -> Tensor:
        """positions (...,) -> (..., D)."""
        last = self.weight.shape[0] - 1
        return functional.embedding(positions.clamp(max=last), self.weight)


class NoPositions(nn.Module):
    """Nothing is added: attention then sees a bag of words, but for the decoder's mask."""

    def forward(self, positions: Tensor) -> Tensor:
        """positions (...,) -> (..., 1), zeros."""
        return torch.zeros_like(positions, dtype=torch.float32)[..., None]
