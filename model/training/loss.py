"""Label-smoothed cross-entropy, joined with the output projection (paper, section 5.4)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

CHUNK = 512
"""Rows whose logits exist at one time: 256 x 8,000 stay in a core's cache."""


class _ProjectedCrossEntropy(torch.autograd.Function):
    """Sum of the losses over rows, with the gradients computed on the way forward.

    The logits of a batch (rows x V) are its largest tensor by far; taking the rows in
    chunks and each chunk's gradient at once keeps them out of main memory.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, target: Tensor, smoothing: float, dtype: Any
    ) -> tuple[Tensor, Tensor]:
        matrix = weight.to(dtype)  # (V, D)
        uniform = smoothing / weight.shape[0]
        loss, likelihood = hidden.new_zeros(2, dtype=torch.float32)
        hidden_grad = torch.empty_like(hidden)
        weight_grad = torch.zeros_like(weight, dtype=torch.float32)
        for start in range(0, hidden.shape[0], CHUNK):
            rows = hidden[start : start + CHUNK].to(dtype)  # (C, D)
            labels = target[start : start + CHUNK, None]  # (C, 1)
            logits = (rows @ matrix.T).float()  # (C, V)
            picked, logit_sum = logits.gather(1, labels), logits.sum()
            peak = logits.amax(dim=-1, keepdim=True)
            exponentials = logits.sub_(peak).exp_()
            total = exponentials.sum(dim=-1, keepdim=True)
            normaliser = peak + total.log()  # (C, 1), of log-softmax
            missed = (normaliser - picked).sum()
            likelihood += missed
            loss += (1 - smoothing) * missed + smoothing * normaliser.sum() - uniform * logit_sum
            # The gradient of the logits is softmax - (1 - smoothing) [label] - uniform. Its
            # division by the total and its uniform part are left to the small factors below.
            exponentials.scatter_add_(1, labels, (smoothing - 1) * total)
            low = exponentials.to(dtype)
            hidden_grad[start : start + CHUNK] = (low @ matrix) / total
            weight_grad += low.T @ (rows / total).to(dtype)
        hidden_grad -= uniform * weight.sum(0)
        weight_grad -= uniform * hidden.sum(0)
        ctx.save_for_backward(hidden_grad, weight_grad)
        ctx.mark_non_differentiable(likelihood)
        return loss, likelihood

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        hidden_grad, weight_grad = ctx.saved_tensors
        return hidden_grad * grads[0], weight_grad * grads[0], None, None, None


def projected_cross_entropy(
    hidden: Tensor,
    weight: Tensor,
    target: Tensor,
    smoothing: float,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor]:
    """Loss of predicting `target` from `hidden` through the tied projection.

    Args:
        hidden: (N, D) decoder states at the positions that count; no padding.
        weight: (V, D) shared embedding.
        target: (N,) ids.
        smoothing: weight of the uniform distribution over V, 0.1 in the paper.
        dtype: precision of the matrix products; sums are in FP32.

    Returns:
        The smoothed loss and the plain negative log-likelihood, each summed over rows.
    """
    loss, likelihood = _ProjectedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        hidden, weight, target, smoothing, dtype
    )
    return loss, likelihood
