"""One process's model, loss and optimiser, and the step that they take together."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import math

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from model.data.batches import Batch
from model.data.group import Group
from model.training.config import OptimisationConfig
from model.training.distributed import World
from model.training.loss import projected_cross_entropy
from model.training.schedule import learning_rate, paper_peak
from model.translation_model import TranslationModel
from serving.errors import ConfigError, DragomanError

log = logging.getLogger(__name__)

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclasses.dataclass(frozen=True)
class StepResult:
    """Sums over the target tokens of a step, and what the optimiser saw."""

    loss: float
    likelihood: float
    tokens: int
    gradient_norm: float
    rate: float


class Objective(nn.Module):
    """Model and loss as one module: what is compiled, and what processes share gradients of."""

    def __init__(
        self, model: TranslationModel, smoothing: float, precision: str, compiled: bool = False
    ) -> None:
        super().__init__()
        self.model = model
        self._smoothing = smoothing
        self._dtype = DTYPES[precision]
        # The loss stays outside: it computes its gradient on the way forward, in chunks.
        self._network = torch.compile(model, dynamic=True) if compiled else model

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Smoothed loss and negative log-likelihood, summed over a batch's target tokens."""
        device = batch.source.device.type
        with torch.autocast(device, self._dtype, enabled=self._dtype != torch.float32):
            hidden = self._network(batch.source, batch.lengths, batch.shifted)  # (B, T, D)
        rows = hidden.flatten(0, 1).index_select(0, batch.counted)  # padding is never projected
        weight = self.model.embedding.weight
        return projected_cross_entropy(rows, weight, batch.target, self._smoothing, self._dtype)


class Learner:
    """Takes optimiser steps, alone or with the other processes of its world."""

    def __init__(
        self, model: TranslationModel, config: OptimisationConfig, seed: int, world: World
    ) -> None:
        if config.precision == "fp16" and world.device.type == "cpu":
            raise ConfigError("optimisation.precision fp16 needs a GPU; a CPU computes in bf16")
        if config.precision == "bf16" and world.device.type == "cpu" and not _has_avx512():
            log.warning("this CPU has no AVX-512: bf16 takes some twenty times as long as fp32")
        self.model = model
        self.optimiser = make_optimiser(model)
        self.scaler = torch.amp.GradScaler(world.device.type, enabled=config.precision == "fp16")
        self._config, self._seed, self._world = config, seed, world
        objective = Objective(model, config.label_smoothing, config.precision, config.compile)
        self._objective = objective if world.size == 1 else DistributedDataParallel(objective)

    def step(self, number: int, group: Group) -> StepResult:
        """Gradients of all the group's batches, weighted by their tokens, then one update.

        Each process takes every size-th batch. Dropout draws from a generator seeded by run,
        step and batch, so that it does not matter which process takes a batch, or when.

        Raises:
            DragomanError: the gradient is not finite; the weights are still those before the step.
        """
        rate = self._set_rate(number)
        tokens = group.tokens
        world = self._world
        sums = torch.zeros(2, dtype=torch.float64, device=world.device)
        self.optimiser.zero_grad(set_to_none=True)
        places = range(world.rank, len(group), world.size)
        # All processes must share gradients: one that has no batch adds nothing of the first.
        for place in places or [0]:
            torch.manual_seed((self._seed * 1_000_003 + number) * 1009 + place)
            batch = group.batch(place).to(world.device)
            with self._shared_gradients(place + world.size >= len(group)):
                loss, likelihood = self._objective(batch)
                if not places:
                    loss, likelihood = loss * 0, likelihood * 0
                # DistributedDataParallel takes the mean over processes; the sum is wanted.
                self.scaler.scale(loss * (world.size / tokens)).backward()
            sums += torch.stack((loss.detach(), likelihood)).double()
        self.scaler.unscale_(self.optimiser)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self._config.clip_norm).item()
        if not self.scaler.is_enabled() and not math.isfinite(norm):
            raise DragomanError(
                f"training diverged at step {number}: the gradient's norm is {norm}; "
                "a lower optimisation.peak_rate or a longer optimisation.warmup may help"
            )
        self.scaler.step(self.optimiser)
        self.scaler.update()
        loss_sum, likelihood_sum = world.sums(sums)
        return StepResult(loss_sum, likelihood_sum, tokens, norm, rate)

    def _set_rate(self, number: int) -> float:
        config = self._config
        peak = config.peak_rate or paper_peak(self.model.config.d_model, config.warmup)
        rate = learning_rate(number, config.warmup, peak)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        return rate

    def _shared_gradients(self, last: bool) -> contextlib.AbstractContextManager[None]:
        """Processes exchange gradients after their last batch only."""
        if last or not isinstance(self._objective, DistributedDataParallel):
            return contextlib.nullcontext()
        context: contextlib.AbstractContextManager[None] = self._objective.no_sync()
        return context


def _has_avx512() -> bool:
    return "AVX512" in torch.backends.cpu.get_cpu_capability()


def make_optimiser(model: nn.Module) -> torch.optim.Adam:
    """Adam with the paper's constants (section 5.3); the rate is set at each step."""
    return torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
