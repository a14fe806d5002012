"""Milliseconds of a step in process, in the default engine behind Triton, and through BLS."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tqdm
import tritonclient.grpc as grpc

from bench.native.repository import OWN, THROUGH_BLS
from serving.engine import Engine
from serving.options import DecodingOptions
from serving.search import search
from serving.triton.decoding import DECODING, Decoding
from serving.triton.ragged import flatten, split

IN_PROCESS, SERVED, NATIVE = "portable graphs in process", "default engine, served", "through BLS"
WAYS = (IN_PROCESS, SERVED, NATIVE)
LENGTH_PENALTY = 0.0

Ids = Sequence[int]


@dataclasses.dataclass(frozen=True)
class Cell:
    """One number of sentences, translated together.

    Attributes:
        sentences: how many.
        beam: rows of each.
        steps: that the search takes.
        milliseconds: of a step, encoder and search included, by way, one for each round.
        differing: of the default engine's translations, how many are others through BLS.
    """

    sentences: int
    beam: int
    steps: int
    milliseconds: dict[str, list[float]]
    differing: int

    def median(self, way: str) -> float:
        """Of the rounds."""
        return statistics.median(self.milliseconds[way])

    def ratio(self, way: str, other: str) -> float:
        """The median of the rounds' ratios."""
        pairs = zip(self.milliseconds[way], self.milliseconds[other], strict=True)
        return statistics.median(one / two for one, two in pairs)


def measure(
    address: str, engine: Engine, batches: Sequence[Sequence[Ids]], beam: int, rounds: int
) -> list[Cell]:
    """Translate each batch in all ways, in turn, after a warm-up.

    Args:
        address: gRPC endpoint of a server of `bench.native.repository`.
        engine: the portable graphs in this process.
        batches: ids of the sentences of each cell.
        beam: of the search.
        rounds: of all ways, each in another order.
    """
    bar = tqdm.tqdm(total=len(batches) * (rounds + 1) * len(WAYS), unit="turn", disable=None)
    with bar, grpc.InferenceServerClient(address) as client:
        return [_cell(client, engine, batch, beam, rounds, bar.update) for batch in batches]


def _cell(
    client: Any,
    engine: Engine,
    batch: Sequence[Ids],
    beam: int,
    rounds: int,
    on_done: Callable[[], object],
) -> Cell:
    counted = CountingEngine(engine)
    options = DecodingOptions(beam, LENGTH_PENALTY)
    inputs = batch_inputs(batch, options)
    ways: dict[str, Callable[[], Any]] = {
        IN_PROCESS: lambda: search(counted, batch, options),
        SERVED: lambda: client.infer(OWN, inputs),
        NATIVE: lambda: client.infer(THROUGH_BLS, inputs),
    }
    first = {}
    for way in WAYS:
        first[way] = ways[way]()
        on_done()
    steps = counted.steps
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for number in range(rounds):
        for turn in range(len(WAYS)):
            way = WAYS[(number + turn) % len(WAYS)]
            began = time.perf_counter()
            ways[way]()
            times[way].append(1000 * (time.perf_counter() - began) / steps)
            on_done()
    return Cell(len(batch), beam, steps, times, _differing(first[SERVED], first[NATIVE]))


class CountingEngine:
    """An engine whose steps are counted."""

    def __init__(self, engine: Engine) -> None:
        self.spec = engine.spec
        self.steps = 0
        self._engine = engine

    def decoder(self) -> Any:
        """A decoder of the engine, told to count."""
        decoder: Any = self._engine.decoder()
        step = decoder.step

        def counted(rows: Any) -> Any:
            self.steps += 1
            return step(rows)

        decoder.step = counted
        return decoder


def batch_inputs(batch: Sequence[Ids], options: DecodingOptions) -> list[Any]:
    """A request for a whole batch."""
    ids, lengths = flatten(batch)
    return [
        _input("ids", ids, "INT32"),
        _input("lengths", lengths, "INT32"),
        _input(DECODING, Decoding(options).array(), "BYTES"),
    ]


def _input(name: str, values: np.ndarray[Any, Any], type_name: str) -> Any:
    tensor = grpc.InferInput(name, list(values.shape), type_name)
    tensor.set_data_from_numpy(values)
    return tensor


def _differing(one: Any, other: Any) -> int:
    return sum(a != b for a, b in zip(_hypotheses(one), _hypotheses(other), strict=True))


def _hypotheses(result: Any) -> list[list[int]]:
    ids, lengths = (result.as_numpy(f"hypothesis_{name}") for name in ("ids", "lengths"))
    return split(ids, lengths)
