"""Dropout whose mask costs an eighth of a random number for each element."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """Zero elements with probability p and scale the rest (paper, section 5.4).

    On a CPU a serial generator draws one number an element for `torch.nn.Dropout`, a quarter
    of a training step here. Bytes will do: p is rounded to a multiple of 1/256, and the scale
    is that of the rounded p.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.threshold = min(round(p * 256), 255)
        self.scale = 256 / (256 - self.threshold)

    def forward(self, x: Tensor) -> Tensor:
        """Any shape, kept."""
        if not self.training or self.threshold == 0:
            return x
        words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64, device=x.device)
        words.random_(-(2**63), None)
        kept = words.view(torch.uint8)[: x.numel()].view(x.shape) >= self.threshold
        return x * (kept.to(x.dtype) * self.scale)
