"""When requests are due, whatever becomes of those before them."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True)
class Arrivals:
    """When each request is due (N,), in seconds from the start, and its number (N,).

    Attributes:
        rate: requests a second, on average.
        seconds: during which requests are due.
        due: ascending.
        request: which of the requests that may be sent.
    """

    rate: float
    seconds: float
    due: NDArray[np.float64]
    request: NDArray[np.int64]


def poisson(rate: float, seconds: float, requests: int, seed: int) -> Arrivals:
    """Independent arrivals of `rate` a second on average, each of a random one of `requests`."""
    random = np.random.default_rng(seed)
    most = int(rate * seconds + 10 * math.sqrt(rate * seconds) + 10)
    due = np.cumsum(random.exponential(1 / rate, most))
    due = due[due < seconds]
    return Arrivals(rate, seconds, due, random.integers(requests, size=len(due)))
