"""Masks as bool tensors: True where a query may look at a key."""

from __future__ import annotations

import torch
from torch import Tensor


def padding_mask(lengths: Tensor, width: int) -> Tensor:
    """Hide padded keys: lengths (B,) -> (B, 1, 1, width)."""
    positions = torch.arange(width, device=lengths.device)
    return (positions[None, :] < lengths[:, None])[:, None, None, :]


def encoder_mask(pattern: str, span: int, lengths: Tensor, width: int) -> Tensor:
    """Who looks at whom in encoder self-attention.

    Args:
        pattern: `full`, as in the paper; `window`, at most `span` positions away (the restricted
            attention of the paper's section 4); `strided`, nearer than `span` or a multiple of
            it away (Child et al. 2019).
        span: half width of a window, or the stride.
        lengths: (B,).
        width: S, the padded length.

    Returns:
        (B, 1, 1, S) for `full`, else (B, 1, S, S); no row is wholly False.
    """
    visible = padding_mask(lengths, width)
    if pattern == "full":
        return visible
    positions = torch.arange(width, device=lengths.device)
    distance = (positions[None, :] - positions[:, None]).abs()  # (S, S)
    if pattern == "window":
        return (distance <= span) & visible | (distance == 0)
    return ((distance < span) | (distance % span == 0)) & visible | (distance == 0)


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
