"""Figures of the served comparison as JSON and tables."""

from __future__ import annotations

import json
import math

from bench.served.results import Point, Results
from tests.unit.test_load_loops import LIMIT, window


def test_results_are_json_and_tables() -> None:
    results = Results("a machine", "text", 10, 12.5, LIMIT, 20.0, settings="batch 32")
    slow = window([10.0] * 50 + [math.inf] * 50)
    results.rates = {"Dragoman": [40.0, 44.0, 42.0]}
    results.loads = {"Dragoman": {"half": [Point.of(slow, 20.0, LIMIT)]}}
    results.translations = {"Dragoman": [[5, 6], [7]], "CTranslate2": [[5, 6], [8]]}
    values = json.loads(results.to_json())
    assert values["loads"]["Dragoman"]["half"][0]["p95"] is None
    assert values["identical_translations"] == 0.5
    assert values["output_tokens"] == {"Dragoman": 3, "CTranslate2": 3}
    table = results.to_markdown()
    assert "| Dragoman | 42.0 | 40.0, 44.0, 42.0 |" in table
    assert "| Dragoman | half | 20.0 | 10.0 | inf | inf | 100 | 50 |" in table
