"""What dashboard and alerts ask Prometheus for, and which metrics there are to ask for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from serving.triton.metrics import TranslatorMetrics
from tests.unit.fake_triton import fake_triton

ROOT = Path(__file__).parents[1]
PROMETHEUS = ROOT / "docker/prometheus"
DASHBOARD = ROOT / "docker/grafana/dashboards/dragoman.json"


def _translator_metrics() -> set[str]:
    triton = fake_triton()
    TranslatorMetrics(triton, "translator", queue=1)
    return {name.partition("{")[0] for name in triton.values}


TRANSLATOR_METRICS = _translator_metrics()
"""The translator's own, as it declares them."""

TRITON_METRICS = {
    "nv_inference_request_success",
    "nv_inference_request_failure",
    "nv_inference_request_duration_us",
    "nv_cpu_utilization",
}
"""Triton's that are asked for, on every machine."""

GPU_METRICS = {"nv_gpu_utilization", "nv_gpu_memory_used_bytes", "nv_gpu_memory_total_bytes"}
"""Triton's that are asked for, on machines with a GPU."""

KNOWN = TRANSLATOR_METRICS | TRITON_METRICS | GPU_METRICS | {"up", "ALERTS"}

_VARIABLES = {"$__rate_interval": "1m", "$instance": ".*"}


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana reads it."""
    found: dict[str, Any] = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return found


def panel_queries() -> dict[str, str]:
    """The queries of all panels by "title: legend", their variables filled in."""
    found = {}
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"]
            for name, value in _VARIABLES.items():
                query = query.replace(name, value)
            found[f"{panel['title']}: {target['legendFormat']}"] = query
    return found


def alert_queries() -> dict[str, str]:
    """The expressions of all alerts by name."""
    groups = yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"]
    return {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"]}


def metrics_of(query: str) -> set[str]:
    """Names of the metrics in a query: what is followed by a selector, and no function."""
    return set(re.findall(r"\b([a-zA-Z_:]\w*)\s*\{", query))
