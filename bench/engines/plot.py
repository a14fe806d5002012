"""The grid as a picture: others' time over ours in each cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.engines.contender import PRECISIONS, Precision
from bench.engines.grid import Cell
from bench.engines.report import OURS, rivals


def write_plot(grid: list[Cell], path: Path) -> None:
    """One panel for each precision; bars show medians, whiskers all rounds."""
    figure = Figure(figsize=(max(7, 1.5 + 0.75 * len(grid)), 7), layout="constrained")
    panels = figure.subplots(len(PRECISIONS), 1, sharex=True)
    for axes, precision in zip(panels, PRECISIONS, strict=True):
        _draw(axes, grid, precision)
    names = [f"{cell.batch} x {cell.beam}" for cell in grid]
    panels[-1].set_xticks(range(len(grid)), names)
    panels[-1].set_xlabel("sentences x beam size")
    figure.savefig(path, dpi=120)


def _draw(axes: Axes, grid: list[Cell], precision: Precision) -> None:
    ours, others = f"{OURS} {precision}", rivals(grid, precision)
    width = 0.8 / max(1, len(others))
    for number, name in enumerate(others):
        place = np.arange(len(grid)) + (number - (len(others) - 1) / 2) * width
        middle = np.array([cell.timing.ratio(name, ours) for cell in grid])
        rounds = [cell.timing.ratios(name, ours) for cell in grid]
        below = middle - np.array([min(ratios) for ratios in rounds])
        above = np.array([max(ratios) for ratios in rounds]) - middle
        label = name.removesuffix(f" {precision}")
        axes.bar(place, middle, width, yerr=(below, above), capsize=2, label=label)
    axes.axhline(1, color="black", linewidth=1)
    axes.set_ylabel(f"time over {OURS}'s")
    axes.set_title(f"{precision.upper()}: above 1, {OURS} is faster")
    axes.margins(y=0.2)  # room for the legend
    axes.legend(ncols=max(1, len(others)), loc="upper left", fontsize="small")
