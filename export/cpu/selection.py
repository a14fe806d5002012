"""The best tokens of each row in two stages: the best groups, then the best in them."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional

from model.step import StepEdits
from model.transformer import Transformer
from serving.engine import NEVER

GROUP = 64
"""Tokens of a group."""


def in_whole_groups(transformer: Transformer) -> tuple[Transformer, Tensor | None]:
    """The model with its embedding (V, D) filled up to whole groups, and the bias that then needs.

    The filled-up matrix serves embedding and projection, so that a graph holds it once.
    """
    weight = transformer.embedding.weight
    vocab_size = weight.shape[0]
    missing = -vocab_size % GROUP
    if missing == 0:
        return transformer, None
    filled = copy.deepcopy(transformer)
    filled.embedding.weight = nn.Parameter(
        functional.pad(weight.detach(), (0, 0, 0, missing)), requires_grad=False
    )
    bias = torch.zeros(vocab_size + missing)
    bias[vocab_size:] = NEVER
    return filled, bias


def best_in_groups(logits: Tensor, count: int, edits: StepEdits) -> tuple[Tensor, Tensor, Tensor]:
    """As `best_candidates`, for whole groups.

    A row's best `count` tokens lie in its `count` best groups, so that the costly sort runs over
    V / 64 maxima, not over V.

    Args:
        logits: (N, V), V a multiple of `GROUP`.
        count: C, at most V.
        edits: of the log-probabilities.

    Returns:
        Log-probabilities and ids (N, C), best first, and the edited log-probabilities (N, M).
    """
    log_prob, edited = edits.apply(torch.log_softmax(logits, dim=-1))
    groups = logits.shape[1] // GROUP
    if groups <= count:
        return *torch.topk(log_prob, count, dim=-1), edited
    return *best_of_groups(log_prob.view(-1, groups, GROUP), count), edited


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
