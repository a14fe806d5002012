"""One optimiser step over a group of batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch

from model.data.batches import Batch
from model.training.config import OptimisationConfig
from model.training.loss import projected_cross_entropy
from model.training.schedule import learning_rate, paper_peak
from model.transformer import Transformer


@dataclasses.dataclass(frozen=True)
class StepResult:
    """Sums over the target tokens of a step, and what the optimiser saw."""

    loss: float
    likelihood: float
    tokens: int
    gradient_norm: float
    rate: float


def make_optimiser(model: Transformer) -> torch.optim.Adam:
    """Adam with the paper's constants (section 5.3); the rate is set at each step."""
    return torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)


def batch_loss(
    model: Transformer, batch: Batch, smoothing: float, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """Smoothed loss and negative log-likelihood, summed over a batch's target tokens."""
    device = batch.source.device.type
    with torch.autocast(device, dtype, enabled=dtype != torch.float32):
        hidden = model(batch.source, batch.lengths, batch.shifted)  # (B, T, D)
    rows = hidden[batch.mask]  # (tokens, D): padding is never projected
    return projected_cross_entropy(rows, model.embedding.weight, batch.target, smoothing, dtype)


def train_step(
    model: Transformer,
    optimiser: torch.optim.Optimizer,
    batches: Sequence[Batch],
    step: int,
    config: OptimisationConfig,
    seed: int,
) -> StepResult:
    """Gradients of all batches, weighted by their tokens, then one update.

    Dropout draws from a generator seeded by run and step, so a resumed run draws the same.
    """
    torch.manual_seed(seed * 1_000_003 + step)
    dtype = torch.bfloat16 if config.precision == "bf16" else torch.float32
    peak = config.peak_rate or paper_peak(model.config.d_model, config.warmup)
    rate = learning_rate(step, config.warmup, peak)
    for group in optimiser.param_groups:
        group["lr"] = rate
    tokens = sum(batch.tokens for batch in batches)
    loss_sum = likelihood_sum = 0.0
    optimiser.zero_grad(set_to_none=True)
    for batch in batches:
        loss, likelihood = batch_loss(model, batch, config.label_smoothing, dtype)
        (loss / tokens).backward()  # type: ignore[no-untyped-call]
        loss_sum += loss.item()
        likelihood_sum += likelihood.item()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
    optimiser.step()
    return StepResult(loss_sum, likelihood_sum, tokens, norm.item(), rate)
