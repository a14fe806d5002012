"""The processes of a data-parallel run, as `torchrun` starts them; usually there is one."""

from __future__ import annotations

import dataclasses
import datetime
import os
from collections.abc import Sequence

import torch
import torch.distributed as dist

from serving.errors import ConfigError

_PATIENCE = datetime.timedelta(hours=2)
"""How long the others wait for the first process, which alone validates and saves."""


@dataclasses.dataclass(frozen=True)
class World:
    """This process's place among all of a run's.

    Attributes:
        device: where this process computes.
        rank: number of this process, from 0.
        size: number of processes.
    """

    device: torch.device
    rank: int = 0
    size: int = 1

    @classmethod
    def join(cls, device: str) -> World:
        """Join the processes that `torchrun` started, or be the only one.

        Args:
            device: `cpu`, `cuda`, or `auto` for the GPU if there is one.

        Raises:
            ConfigError: there is no GPU, or not one for every process of this machine.
        """
        kind = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
        local = int(os.environ.get("LOCAL_RANK", "0"))
        if kind == "cuda":
            if local >= torch.cuda.device_count():
                raise ConfigError(
                    f"process {local} of this machine has no GPU of its own "
                    f"({torch.cuda.device_count()} found); start fewer, or use device: cpu"
                )
            torch.cuda.set_device(local)
        place = torch.device(kind, local) if kind == "cuda" else torch.device("cpu")
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return cls(place)
        dist.init_process_group("nccl" if kind == "cuda" else "gloo", timeout=_PATIENCE)
        return cls(place, dist.get_rank(), dist.get_world_size())

    def leave(self) -> None:
        """Part from the other processes."""
        if self.size > 1:
            dist.destroy_process_group()

    @property
    def leads(self) -> bool:
        """Whether this process writes files, validates and reports."""
        return self.rank == 0

    def wait(self) -> None:
        """Until every process has come here."""
        if self.size > 1:
            dist.barrier()

    def sums(self, values: torch.Tensor) -> Sequence[float]:
        """Sums over all processes of a few numbers (n,)."""
        if self.size > 1:
            dist.all_reduce(values)
        found: list[float] = values.tolist()
        return found
