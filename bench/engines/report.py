"""The results as JSON with all raw times, and as Markdown tables."""

from __future__ import annotations

import dataclasses
import json
import statistics
from typing import Any

from bench.engines.contender import PRECISIONS, Precision
from bench.engines.grid import Cell, GridPlan
from bench.engines.real_text import TextPlan, TextResult, Trial
from bench.engines.rounds import Timing

OURS = "Dragoman"


@dataclasses.dataclass(frozen=True)
class Report:
    """All that was measured, and on what.

    Attributes:
        machine: in one line, as it was at the start.
        flags: instruction sets of the processor.
        versions: of the libraries.
        variables: environment variables that steer them.
        grid_plan: what the grid was to measure.
        grid: its cells; None if it was left out.
        text_plan: what was to be measured on real text, if anything.
        text: its result.
    """

    machine: str
    flags: list[str]
    versions: dict[str, str]
    variables: dict[str, str]
    grid_plan: GridPlan | None = None
    grid: list[Cell] | None = None
    text_plan: TextPlan | None = None
    text: TextResult | None = None

    def to_json(self) -> str:
        """All of it, but for the translations, which only their agreement is told of."""
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return json.dumps(plain, indent=2, default=_plain) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Timing):
        same = {label: value.same(label, f"{OURS} fp32") for label in value.translations}
        return {"seconds": value.seconds, "translated_as_our_fp32": same}
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return str(value)  # a path


def rivals(grid: list[Cell], precision: Precision) -> list[str]:
    """Labels of the others at this precision."""
    labels = grid[0].timing.seconds
    return [name for name in labels if name.endswith(precision) and name != f"{OURS} {precision}"]


def markdown(report: Report) -> str:
    """Tables for a document."""
    parts = [_heading(report)]
    if report.grid and report.grid_plan:
        parts.append(_grid_heading(report.grid_plan))
        parts += [_grid_table(report.grid, precision) for precision in PRECISIONS]
    if report.text and report.text_plan:
        parts.append(_text_section(report.text, report.text_plan))
    return "\n\n".join(parts) + "\n"


def _heading(report: Report) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    lines = [report.machine + ".", f"Instruction sets: {', '.join(report.flags)}.", versions + "."]
    if report.variables:
        lines.append("Environment: " + ", ".join(f"{k}={v}" for k, v in report.variables.items()))
    return "\n".join(lines)


def _grid_heading(plan: GridPlan) -> str:
    sizes = plan.config
    slow = (
        f" Hugging Face and PyTorch took part in {plan.slow_rounds} of the rounds only."
        if plan.slow_rounds < plan.rounds
        else ""
    )
    return (
        f"Random weights: d_model {sizes.d_model}, {sizes.encoder_layers} and "
        f"{sizes.decoder_layers} layers, V {sizes.vocab_size:,}; {plan.source_tokens} source and "
        f"{plan.output_tokens} output tokens, {plan.threads} threads, encoder included. Median of "
        f"{plan.rounds} rounds of alternating order: our seconds, and the others' time over "
        f"ours.{slow}"
    )


def _grid_table(grid: list[Cell], precision: Precision) -> str:
    ours, others = f"{OURS} {precision}", rivals(grid, precision)
    rows = [
        ["batch", "beam", f"{OURS}, s", *(name.removesuffix(f" {precision}") for name in others)]
    ]
    for cell in grid:
        median = statistics.median(cell.timing.seconds[ours])
        ratios = [_ratio(cell.timing.ratio(name, ours)) for name in others]
        rows.append([str(cell.batch), str(cell.beam), f"{median:.3f}", *ratios])
    columns = [[cell.timing.ratio(name, ours) for cell in grid] for name in others]
    means = [_ratio(statistics.geometric_mean(column)) for column in columns]
    rows.append(["**geometric mean**", "", "", *means])
    rows.append(["**smallest**", "", "", *(_ratio(min(column)) for column in columns)])
    return f"{precision.upper()}:\n\n{table(rows)}"


def _text_section(result: TextResult, plan: TextPlan) -> str:
    rows = [
        [
            *("precision", f"{OURS}, s", "CTranslate2, s", "CTranslate2's time over ours"),
            *("translations as our FP32's: ours, theirs", "CTranslate2's best settings"),
        ]
    ]
    variants = dict.fromkeys((trial.name, trial.precision) for trial in result.trials)
    for name, precision in variants:
        suffix = name.removeprefix("CTranslate2")
        ours, theirs = f"{OURS}{suffix} {precision}", f"{name} {precision}"
        best = min(
            (one for one in result.trials if (one.name, one.precision) == (name, precision)),
            key=lambda trial: trial.seconds,
        )
        rows.append(
            [
                precision.upper() + suffix,
                *(f"{statistics.median(result.timing.seconds[n]):.2f}" for n in (ours, theirs)),
                _ratio(result.timing.ratio(theirs, ours)),
                ", ".join(str(result.timing.same(n, f"{OURS} fp32")) for n in (ours, theirs)),
                _settings(best),
            ]
        )
    found = result.agreement
    return (
        f"Real text: {result.sentences} sentences, {result.tokens:,} source tokens, beam "
        f"{plan.beam}, submitted at once; {plan.threads} threads, {plan.rounds} rounds.\n\n"
        f"{table(rows)}\n\n"
        f"The same weights in CTranslate2 and our PyTorch engine, FP32, no length penalty: "
        f"{found.same} of {found.sentences} translations alike, log-probabilities within "
        f"{found.largest_difference:.1e}; of the others, ours is the more probable in "
        f"{found.ours_better}."
    )


def _settings(trial: Trial) -> str:
    return f"{trial.workers} x {trial.threads} threads, batches of {trial.max_batch_size}"


def _ratio(value: float) -> str:
    return f"{value:.2f}"


def table(rows: list[list[str]]) -> str:
    """A Markdown table of a header and rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)
