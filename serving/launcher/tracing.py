"""Traces for OpenTelemetry, which Triton itself makes and sends."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from serving.launcher.endpoint import FAULTS, Endpoint
from serving.launcher.settings import ServerSettings

SERVICE = "dragoman"
TIMEOUT_SECONDS = 2.0


def tracing_arguments(settings: ServerSettings) -> list[str]:
    """Arguments of a tritonserver that sends the traces which `settings` ask for."""
    if settings.trace_otlp is None:
        return []
    return [
        "--trace-config=mode=opentelemetry",
        f"--trace-config=opentelemetry,url={settings.trace_otlp}",
        f"--trace-config=opentelemetry,resource=service.name={SERVICE}",
        "--trace-config=level=TIMESTAMPS",
        f"--trace-config=rate={settings.trace_rate}",
    ]


def trace_ensembles_only(endpoint: Endpoint, models: Iterable[str]) -> None:
    """Trace no request that comes to one of these models by itself: the launcher's own questions.

    As steps of an ensemble they are in its traces all the same.
    """
    for model in models:
        # Traces are no reason to stop serving.
        with contextlib.suppress(*FAULTS):
            path = f"/v2/models/{model}/trace/setting"
            endpoint.request("POST", path, TIMEOUT_SECONDS, b'{"trace_level": ["OFF"]}')
