"""Masks as bool tensors: True where a query may look at a key."""

from __future__ import annotations

import torch
from torch import Tensor


def padding_mask(lengths: Tensor, width: int) -> Tensor:
    """Hide padded keys: lengths (B,) -> (B, 1, 1, width)."""
    positions = torch.arange(width, device=lengths.device)
    return (positions[None, :] < lengths[:, None])[:, None, None, :]


def look_ahead_mask(length: int, device: torch.device) -> Tensor:
    """Hide the future from each target position: (1, 1, T, T), lower triangle True."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()[None, None]


def visible_columns_mask(position: Tensor, width: int) -> Tensor:
    """Self-attention of one decoding step over a right-aligned cache.

    A row at `position` p has written p + 1 columns, and its newest is always the last one,
    so it sees the last p + 1 columns. Rows of different age share a step this way.

    Args:
        position: (N,) own position of each row, from 0.
        width: columns of the cache, the new one included.

    Returns:
        (N, 1, 1, width).
    """
    columns = torch.arange(width, device=position.device)
    return (columns[None, :] >= width - 1 - position[:, None])[:, None, None, :]
