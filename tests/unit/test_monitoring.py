"""Dashboard and alerts: every metric exists, every query parses, every alert is tested and told."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.monitoring import (
    KNOWN,
    PROMETHEUS,
    ROOT,
    alert_queries,
    dashboard,
    metrics_of,
    panel_queries,
)

QUERIES = {**panel_queries(), **alert_queries()}
DEPLOYMENT = ROOT / "docs/deployment.md"


def promtool(*arguments: str | Path) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", QUERIES)
def test_queries_ask_for_metrics_that_exist(name: str) -> None:
    asked = metrics_of(QUERIES[name])
    assert asked
    assert asked <= KNOWN


def test_every_panel_query_parses(tmp_path: Path) -> None:
    queries = panel_queries()
    rules = [{"record": f"panel:{n}", "expr": query} for n, query in enumerate(queries.values())]
    file = tmp_path / "panels.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    promtool("check", "rules", file)


def test_prometheus_takes_its_configuration() -> None:
    promtool("check", "config", PROMETHEUS / "prometheus.yml")


def test_alerts_fire_when_they_should_and_only_then() -> None:
    promtool("test", "rules", PROMETHEUS / "alerts.test.yml")


@pytest.mark.parametrize("alert", alert_queries())
def test_every_alert_is_tested_and_told(alert: str) -> None:
    assert alert in (PROMETHEUS / "alerts.test.yml").read_text()
    assert f"`{alert}`" in DEPLOYMENT.read_text()


def test_the_dashboard_has_its_rows_and_no_panel_covers_another() -> None:
    panels = dashboard()["panels"]
    rows = [panel["title"] for panel in panels if panel["type"] == "row"]
    assert rows == ["Traffic", "Latency", "Batching", "Engine", "Errors"]
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_the_dashboard_finds_its_source_of_data() -> None:
    sources = yaml.safe_load((ROOT / "docker/grafana/datasources/prometheus.yml").read_text())
    (source,) = sources["datasources"]
    variable, _ = dashboard()["templating"]["list"]
    assert variable["current"]["value"] == source["uid"]
    used = re.findall(
        r'"uid": "([^"]*)"', (ROOT / "docker/grafana/dashboards/dragoman.json").read_text()
    )
    assert set(used) == {"${datasource}", "dragoman"}
