"""A closed loop: a fixed number of clients, each of which waits for an answer before it asks again.

It shows what the server can do at most, not what people would wait for: a server that stalls is
asked less meanwhile, and so its stall is hardly counted (coordinated omission).
"""

from __future__ import annotations

import asyncio
import time

import numpy as np

from serving.load.sending import CpuMeter, Send, attempt
from serving.load.window import Outcome, Window

PAUSE_SECONDS = 0.05
"""Of a client whose request failed; else a server that refuses at once is asked without end."""


async def run_closed_loop(
    send: Send, concurrency: int, seconds: float, requests: int, seed: int
) -> Window:
    """Keep `concurrency` requests in flight, then wait for the last answers.

    Args:
        send: sends one request.
        concurrency: clients.
        seconds: after which no more requests are sent.
        requests: how many there are to draw from.
        seed: of the draws.
    """
    random = np.random.default_rng(seed)
    outcomes: list[Outcome] = []
    meter, began = CpuMeter(), time.perf_counter()

    async def ask_again_and_again() -> None:
        while (due := time.perf_counter()) < began + seconds:
            outcome = await attempt(send, int(random.integers(requests)), due, began)
            outcomes.append(outcome)
            if outcome.failure is not None:
                await asyncio.sleep(PAUSE_SECONDS)

    await asyncio.gather(*(ask_again_and_again() for _ in range(concurrency)))
    return Window(
        seconds=seconds,
        outcomes=outcomes,
        rate=None,
        backlog=0,
        gave_up=False,
        lag=0.0,
        cores=meter.cores(),
    )
