"""Attention maps of one kind as a PNG file."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure

from model.pictures.maps import AttentionMaps
from model.pictures.page import NOTES, TITLES

DPI = 100
"""Of a picture within MOST_PIXELS; larger ones have less."""

MOST_PIXELS = 80_000_000
"""Viewers refuse larger pictures, and drawing takes some ten bytes of memory a pixel."""

CELL = 0.13
"""Inches of a token: just enough for its label of 8 points."""

GAP, NARROWEST_MAP = 3, 8
"""Cells between maps; cells that the title over a map needs."""

LABELS, HEAD, LEGEND = 1.3, 0.9, 0.7
"""Inches left of the maps and below them, above, and at their right."""

NARROWEST = 5.0
"""Inches that the title needs."""

LONGEST_LABEL = 16
"""Characters."""

TICKS = [0, 0.1, 0.2, 0.4, 0.6, 0.8, 1]


def save_figure(maps: AttentionMaps, path: Path) -> None:
    """Write all maps of a kind: a row for each layer, the mean of all heads, then each head.

    Raises:
        OSError: the file cannot be written.
    """
    norm: Normalize = PowerNorm(0.7, 0, 1)  # as on the page: small weights get more colours
    colours = ScalarMappable(norm, matplotlib.colormaps["magma_r"].with_extremes(bad="#e3e3ea"))
    figure, axes, legend = _frame(maps)
    _draw(axes, maps, colours)
    _write_labels(axes, maps)
    figure.colorbar(colours, cax=legend, ticks=TICKS).ax.tick_params(labelsize=7)
    edge = 0.1 / figure.get_figwidth(), 1 / figure.get_figheight()
    figure.text(edge[0], 1 - 0.25 * edge[1], TITLES[maps.kind], fontsize=10, weight="bold")
    figure.text(edge[0], 1 - 0.43 * edge[1], NOTES[maps.kind], fontsize=8)
    with warnings.catch_warnings():  # signs that the font lacks become boxes, as --help says
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(path, format="png")


def _pitch(maps: AttentionMaps) -> tuple[int, int]:
    """Cells from a map to the next one, down and across."""
    rows, columns = maps.visible.shape
    return rows + GAP, max(columns + GAP, NARROWEST_MAP)


def _corners(maps: AttentionMaps) -> Iterator[tuple[int, int, int, int]]:
    """Layer, place in its row (0 is the mean), and the top and left cell of every map."""
    layers, heads, _, _ = maps.weights.shape
    down, across = _pitch(maps)
    for layer in range(layers):
        for place in range(heads + 1):
            yield layer, place, layer * down, place * across


def _frame(maps: AttentionMaps) -> tuple[Figure, Axes, Axes]:
    """A figure, the axes of all its maps, measured in cells, and those of the legend."""
    layers, heads, _, _ = maps.weights.shape
    pitch = _pitch(maps)
    cells = (heads + 1) * pitch[1] - GAP, layers * pitch[0] - GAP
    across, down = cells[0] * CELL, cells[1] * CELL
    width, height = max(LABELS + across + LEGEND, NARROWEST), HEAD + down + LABELS
    dpi = min(DPI, math.sqrt(MOST_PIXELS / (width * height)))
    figure = Figure(figsize=(width, height), dpi=dpi)
    FigureCanvasAgg(figure)

    def add_axes(x: float, y: float, across: float, down: float) -> Axes:
        return figure.add_axes((x / width, y / height, across / width, down / height))

    axes = add_axes(LABELS, LABELS, across, down)
    axes.set(xlim=(-0.5, cells[0] - 0.5), ylim=(cells[1] - 0.5, -0.5))
    axes.set_axis_off()
    tall = min(max(down, 1.2), 3.0)
    return figure, axes, add_axes(LABELS + across + 0.15, LABELS + down - tall, 0.12, tall)


def _draw(axes: Axes, maps: AttentionMaps, colours: ScalarMappable) -> None:
    """Draw every map on the same axes, as an axes for each takes longer than all else."""
    _, _, rows, columns = maps.weights.shape
    for layer, place, top, left in _corners(maps):
        weights = maps.weights[layer]
        shown = np.where(maps.visible, weights[place - 1] if place else weights.mean(0), np.nan)
        corners = np.array([left, left + columns, top + rows, top]) - 0.5
        pixels = colours.to_rgba(shown, bytes=True)
        axes.imshow(pixels, extent=tuple(corners), aspect="auto", interpolation="nearest")


def _write_labels(axes: Axes, maps: AttentionMaps) -> None:
    layers, _, rows, columns = maps.weights.shape
    for layer, place, top, left in _corners(maps):
        head = f"head {place}" if place else "mean"
        title = f"layer {layer + 1}, {head}"
        axes.text(left + columns / 2 - 0.5, top - 1, title, fontsize=7, ha="center")
        if place == 0:
            for i, label in enumerate(maps.rows):
                _write_label(axes, -1, top + i, label, ha="right", va="center")
        if layer == layers - 1:
            for i, label in enumerate(maps.columns):
                _write_label(axes, left + i, top + rows, label, ha="center", va="top", rotation=90)


def _write_label(axes: Axes, x: float, y: float, label: str, **style: Any) -> None:
    cut = label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "\u2026"
    axes.text(x, y, cut, fontsize=8, parse_math=False, **style)  # a dollar sign is no formula
