"""A server's metrics: how many requests are in the hands of a model."""

from __future__ import annotations

import re
from dataclasses import dataclass

from serving.launcher.endpoint import FAULTS, Endpoint

TIMEOUT_SECONDS = 1.0
OPEN_REQUESTS = "dragoman_open_requests"
"""Requests that a model has accepted and put off."""
WAITING_REQUESTS = "nv_inference_pending_request_count"
"""Requests that wait in Triton for an instance of a model."""

_SAMPLE = re.compile(r"^(\w+)\{([^}]*)\} (\S+)")
_MODEL = re.compile(r'(?:^|,)model="([^"]*)"')


@dataclass(frozen=True)
class Metrics:
    """One reading; None where the server did not answer, which tells nothing of its models."""

    text: str | None

    @classmethod
    def read(cls, endpoint: Endpoint) -> Metrics:
        """Read the metrics of a server."""
        try:
            status, body = endpoint.request("GET", "/metrics", TIMEOUT_SECONDS)
        except FAULTS:
            return cls(None)
        return cls(body.decode(errors="replace") if status == 200 else None)

    def of(self, model: str, name: str) -> int | None:
        """Return the sum of a model's samples of a metric, None where there is none."""
        samples = [_SAMPLE.match(line) for line in (self.text or "").splitlines()]
        values = [
            float(sample[3])
            for sample in samples
            if sample is not None and sample[1] == name and _MODEL.findall(sample[2]) == [model]
        ]
        return round(sum(values)) if values else None
