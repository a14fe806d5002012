"""How many requests a model has put off, as Prometheus and the launcher see it."""

from __future__ import annotations

import threading

from serving.triton.interface import Triton
from serving.triton.metrics import OPEN_REQUESTS, OPEN_REQUESTS_MEANING, Metrics


class OpenCount:
    """Counts from any thread. The launcher goes by it: Triton never answers for a dead process."""

    def __init__(self, triton: Triton, model: str) -> None:
        """Args: the module `triton_python_backend_utils`, and the model's name, a label."""
        self._metrics = Metrics(triton, model)
        self._metrics.gauge(OPEN_REQUESTS, OPEN_REQUESTS_MEANING)
        self._lock = threading.Lock()
        self.value = 0

    def add(self, change: int) -> None:
        """So many more, or fewer."""
        with self._lock:
            self.value += change
            self._metrics.set(OPEN_REQUESTS, self.value)
