"""What Triton adds to one request: gRPC one at a time, against the same engine in process."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import tritonclient.grpc as grpc

from bench.served.client import BEAM_SIZE, LENGTH_PENALTY, Ids, own_inputs
from bench.served.server import MODEL
from serving.bundle import Bundle
from serving.engine import default_workers
from serving.options import DecodingOptions
from serving.scheduler import Scheduler

BLOCK = 10
"""Sentences that one side translates before it is the other's turn."""


@dataclasses.dataclass(frozen=True)
class TritonCost:
    """Median milliseconds of a sentence alone, over gRPC and in process."""

    served: float
    in_process: float
    sentences: int

    @property
    def cost(self) -> float:
        """Milliseconds that Triton and gRPC add."""
        return self.served - self.in_process


def measure_cost(address: str, bundle: Path, sentences: Sequence[Ids]) -> TritonCost:
    """Translate each sentence both ways, in alternating blocks; the first block warms up.

    Args:
        address: gRPC endpoint of a server of the same bundle.
        bundle: what to load in process.
        sentences: ids of each.
    """
    options = DecodingOptions(BEAM_SIZE, LENGTH_PENALTY)
    inputs = [own_inputs(ids) for ids in sentences]
    workers = default_workers(0)
    engine = Bundle.open(bundle).engine(workers=workers)
    with (
        Scheduler(engine, workers=workers) as scheduler,
        grpc.InferenceServerClient(address) as client,
    ):
        found = _alternate(
            len(sentences),
            lambda i: client.infer(MODEL, inputs[i]),
            lambda i: scheduler.submit([sentences[i]], options).result(),
        )
    served, in_process = map(statistics.median, found)
    return TritonCost(served, in_process, len(found[0]))


def _alternate(count: int, *ways: Callable[[int], object]) -> list[list[float]]:
    """Milliseconds of each call by each way, without the first block's."""
    found: list[list[float]] = [[] for _ in ways]
    for start in range(0, count, BLOCK):
        for way, times in zip(ways, found, strict=True):
            for index in range(start, min(start + BLOCK, count)):
                began = time.perf_counter()
                way(index)
                if start or count <= BLOCK:
                    times.append(1000 * (time.perf_counter() - began))
    return found
