"""The best tokens of each row in two stages: the best groups, then the best in them."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

GROUP = 64
"""Tokens of a group."""

NEVER = -1e9
"""Logit of what only fills up the last group, or a list."""


def padded_projection(weight: Tensor) -> tuple[Tensor, Tensor | None]:
    """The projection (V, D) filled up to whole groups, and the bias that needs, if any."""
    vocab_size = weight.shape[0]
    missing = -vocab_size % GROUP
    if missing == 0:
        return weight, None
    bias = torch.zeros(vocab_size + missing)
    bias[vocab_size:] = NEVER
    return functional.pad(weight, (0, 0, 0, missing)), bias


def best_in_groups(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """As `best_candidates`, for whole groups.

    A row's best `count` tokens lie in its `count` best groups, so that the costly sort runs over
    V / 64 maxima, not over V.

    Args:
        logits: (N, V), V a multiple of `GROUP`.
        count: C, at most V.

    Returns:
        Log-probabilities and ids (N, C), best first.
    """
    log_prob = torch.log_softmax(logits, dim=-1)
    groups = logits.shape[1] // GROUP
    if groups <= count:
        best, ids = torch.topk(log_prob, count, dim=-1)
        return best, ids
    return best_of_groups(log_prob.view(-1, groups, GROUP), count)


def best_of_groups(grouped: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The best of numbers (N, G, M) in G groups of M.

    Args:
        grouped: (N, G, M).
        count: C, at most G.

    Returns:
        Numbers and their places among a row's G x M, each (N, C), best first.
    """
    rows, groups, members = grouped.shape
    _, kept = torch.topk(grouped.amax(dim=-1), count, dim=-1)  # (N, C)
    first = torch.arange(rows, device=grouped.device)[:, None] * groups
    found = functional.embedding(kept + first, grouped.flatten(0, 1))  # (N, C, M)
    best, place = torch.topk(found.flatten(1), count, dim=-1)
    group = kept.gather(1, place // members)
    return best, group * members + place % members
