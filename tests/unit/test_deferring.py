"""Large requests are put off and counted; small ones are answered meanwhile."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from serving.triton.deferring import THREADS, Deferring
from tests.unit.fake_triton import Request, fake_triton


def test_small_requests_pass_large_ones() -> None:
    triton, go_on = fake_triton(), threading.Event()

    def handle(request: Any) -> Any:
        if request.arrays["size"] > 1:
            assert go_on.wait(20)
        if request.arrays["size"] > 2:
            raise KeyError("oops")
        return {"size": np.array([request.arrays["size"]])}

    deferring = Deferring(triton, "preprocess", handle, lambda r: r.arrays["size"] > 1)  # type: ignore[attr-defined]

    def held() -> float:
        return float(triton.values['dragoman_open_requests{model="preprocess"}'])

    assert held() == 0
    large = [Request({"size": 2 + n % 2}) for n in range(2 * THREADS)]
    small = Request({"size": 1})
    deferring.execute([*large, small])
    assert small.sent
    assert not any(request.sent for request in large)
    assert held() == len(large)
    go_on.set()
    deferring.close()
    assert [request.sent[0][0].error is None for request in large] == [True, False] * THREADS
    until = time.monotonic() + 5
    while held():
        assert time.monotonic() < until
