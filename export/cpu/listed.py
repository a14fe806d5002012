"""The output projection and the choice of tokens where sentences have shortlists."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from export.cpu import operators
from export.cpu.linear import QuantisedInput, QuantisedWeight, Range
from export.cpu.selection import best_of_groups
from model.step import StepEdits
from serving.engine import NEVER


class ListedLinear(nn.Module):
    """Some outputs of a linear layer without bias, in FP32.

    Their weights are gathered at every step: it takes little beside the product, and the whole
    weight stays one with the embedding.
    """

    def __init__(self, weight: nn.Parameter) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, x: Tensor, ids: Tensor) -> Tensor:
        """x (N, I) and ids (W,) -> (N, W)."""
        return functional.linear(x, functional.embedding(ids, self.weight))


class QuantisedListedLinear(nn.Module):
    """The same in INT8. Weights lie as (O, I), so that one of them is a piece of memory."""

    weight: Tensor
    scale: Tensor

    def __init__(self, weight: Tensor, span: Range) -> None:
        super().__init__()
        self.input = QuantisedInput(span)
        quantised = QuantisedWeight(weight)
        self.register_buffer("weight", quantised.weight.T.contiguous())
        self.register_buffer("scale", quantised.scale)

    def forward(self, x: Tensor, ids: Tensor) -> Tensor:
        """x (N, I) and ids (W,) -> (N, W)."""
        source = self.input
        weight = self.weight.index_select(0, ids).T  # (I, W)
        scale = self.scale.index_select(0, ids)
        return operators.integer_linear(source(x), source.scale, source.zero, weight, scale, None)


def best_of_lists(
    logits: Tensor,
    shortlist: Tensor,
    own: Tensor,
    sentence: Tensor,
    count: int,
    edits: StepEdits,
) -> tuple[Tensor, Tensor, Tensor]:
    """Each row's best tokens of its own sentence's list.

    The way through groups is taken for lists of any length: equal numbers would be ranked
    otherwise by another way, and how long lists are padded depends on the company.

    Args:
        logits: (N, W).
        shortlist: (W,) the columns' ids.
        own: (B, G, M) columns of each sentence's list, ascending, then -1.
        sentence: (N,) each row's.
        count: C, at most G.
        edits: their ids are places in the row's list.

    Returns:
        Log-probabilities, normalised over the list, and ids (N, C), best first, and the edited
        log-probabilities (N, M). Those of -1 are below -1e8.
    """
    groups, members = own.shape[1:]
    flat = own.flatten(1)  # (B, G x M): what can be done for a sentence is not done for its rows
    column = flat.clamp(min=0).index_select(0, sentence)  # (N, G x M)
    padding = torch.where(flat < 0, NEVER, 0.0).index_select(0, sentence)
    log_prob, edited = edits.apply(torch.log_softmax(logits.gather(1, column) + padding, dim=-1))
    best, place = best_of_groups(log_prob.view(-1, groups, members), count)
    return best, shortlist[column.gather(1, place)], edited
