"""A line in the server's log for each request that has ended, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable

from serving.triton.interface import Triton
from serving.triton.metrics import Ended


def log_ended(triton: Triton, model: str, ended: Iterable[Ended]) -> None:
    """Write the lines; times in milliseconds, `queue_ms` until the first sentence was in flight."""
    for request, outcome, when in ended:
        joined = request.joined
        fields = {
            "event": "request",
            "model": model,
            "id": request.id,
            "outcome": outcome,
            "sentences": request.sentences,
            "source_tokens": request.source_tokens,
            "output_tokens": request.output_tokens,
            "ms": round(1000 * (when - request.arrived), 1),
            "queue_ms": None if joined is None else round(1000 * (joined - request.arrived), 1),
        }
        triton.Logger.log_info(json.dumps(fields))
