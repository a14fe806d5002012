"""Sentences as requests to either server's `translator`, one sentence each."""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tritonclient.grpc as blocking
import tritonclient.grpc.aio as grpc

from bench.served.server import MODEL
from serving.load.arrivals import Arrivals
from serving.load.open_loop import run_open_loop
from serving.load.window import Window
from serving.options import DecodingOptions
from serving.triton.decoding import DECODING, Decoding

BEAM_SIZE = 4
LENGTH_PENALTY = 0.0
"""CTranslate2's penalty is another formula; without one, both compare log-probabilities."""

ANSWER_SECONDS = 60.0
"""A request without an answer for so long is an error."""

Ids = Sequence[int]
Inputs = list[Any]


@dataclasses.dataclass(frozen=True)
class Contestant:
    """A repository to serve, and how its `translator` takes a sentence."""

    name: str
    repository: Path
    inputs: Callable[[Ids], Inputs]


def own_inputs(ids: Ids) -> Inputs:
    """`ids` (S,), `lengths` (1,), and the options."""
    return [
        _input("ids", np.array(ids, dtype=np.int32), "INT32"),
        _input("lengths", np.array([len(ids)], dtype=np.int32), "INT32"),
        _input(DECODING, Decoding(DecodingOptions(BEAM_SIZE, LENGTH_PENALTY)).array(), "BYTES"),
    ]


def ctranslate2_inputs(ids: Ids) -> Inputs:
    """`ids` (1, S) and `lengths` (1, 1): where Triton gathers, every tensor has a batch axis."""
    return [
        _input("ids", np.array([ids], dtype=np.int32), "INT32"),
        _input("lengths", np.array([[len(ids)]], dtype=np.int32), "INT32"),
    ]


def _input(name: str, values: np.ndarray[Any, Any], type_name: str) -> Any:
    tensor = blocking.InferInput(name, list(values.shape), type_name)
    tensor.set_data_from_numpy(values)
    return tensor


def hypothesis(result: Any) -> list[int]:
    """The ids in an answer of either."""
    length = int(result.as_numpy("hypothesis_lengths").reshape(-1)[0])
    ids: list[int] = result.as_numpy("hypothesis_ids").reshape(-1)[:length].tolist()
    return ids


def measure(
    address: str, requests: Sequence[Inputs], arrivals: Arrivals, limit: float = math.inf
) -> Window:
    """One window of load over one channel; `limit` as in `run_open_loop`."""
    return asyncio.run(_measure(address, requests, arrivals, limit))


async def _measure(
    address: str, requests: Sequence[Inputs], arrivals: Arrivals, limit: float
) -> Window:
    async with grpc.InferenceServerClient(address) as client:
        await client.is_model_ready(MODEL)  # connects

        async def send(sentence: int) -> None:
            await client.infer(MODEL, requests[sentence], client_timeout=ANSWER_SECONDS)

        return await run_open_loop(send, arrivals, limit)
