"""Results for people and programs: `results.json`, tables in a document, a picture."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

from model.ablation.config import AblationConfig, Row
from model.ablation.picture import draw
from model.ablation.result import Outcome
from model.ablation.summary import summarise
from model.ablation.table import lengths_table, notes, results_table
from serving.errors import ConfigError

BEGIN = "<!-- written by dragoman ablate: begin -->"
END = "<!-- written by dragoman ablate: end -->"

RESULTS = "results.json"


def read_report(path: Path) -> tuple[str, str]:
    """The document before and after the part that is written anew; empty if there is none yet.

    Raises:
        ConfigError: the document does not mark that part.
    """
    if not path.exists():
        return "", "\n"
    before, begin, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ConfigError(f"{path} must hold the lines {BEGIN!r} and {END!r}")
    return before, after


def write_report(config: AblationConfig) -> None:
    """Write everything from what lies in the runs' folders.

    Raises:
        ConfigError: the document does not mark the part to write.
        DragomanError: a result cannot be read.
    """
    before, after = read_report(config.report)
    summaries = summarise(config)
    entries = [_entry(s.row, outcome) for s in summaries for outcome in s.outcomes]
    text = json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
    config.output.mkdir(parents=True, exist_ok=True)
    (config.output / RESULTS).write_text(text, encoding="utf-8")
    parts = [BEGIN, results_table(summaries), notes(summaries)]
    if any(summary.results for summary in summaries):
        draw(summaries, config.lengths.rows, config.picture)
        link = os.path.relpath(config.picture, config.report.parent)
        parts += [f"![BLEU of every row, and by sentence length]({link})", lengths_table(summaries)]
    config.report.write_text(before + "\n\n".join([*parts, END]) + after, encoding="utf-8")


def _entry(row: Row, outcome: Outcome) -> dict[str, Any]:
    """A run as plain values."""
    entry = {
        **{"name": row.name, "paper": row.paper, "claim": row.claim, "change": row.change},
        "seed": outcome.run.seed,
    }
    if outcome.result:
        speed = {"tokens_per_second": round(outcome.result.tokens_per_second, 1)}
        return {**entry, **dataclasses.asdict(outcome.result), **speed}
    return {**entry, "failure": outcome.failure}
