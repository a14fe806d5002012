"""A soak as a picture: memory above, latency below, over time."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.soak.report import Soak

MINUTE = 60


def draw(soak: Soak, path: Path) -> None:
    """Write a PNG."""
    figure = Figure(figsize=(9, 8), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    _memory(above, soak)
    _latency(below, soak)
    verdict = "passed" if soak.passed else "FAILED"
    figure.suptitle(f"soak at {soak.measured.rate or 0:.1f} sentences/s: {verdict}")
    figure.savefig(path, dpi=120)


def _memory(axes: Axes, soak: Soak) -> None:
    for trend in soak.trends:
        points = [
            (sample.seconds / MINUTE, sample.processes[trend.name].resident)
            for sample in soak.samples
            if trend.name in sample.processes
        ]
        label = f"{trend.name}: {trend.median:.0f} MiB, within {trend.stray:.1%}"
        axes.plot(*zip(*points, strict=True), label=label)
    axes.axvspan(0, soak.settle_seconds / MINUTE, color="black", alpha=0.07)
    axes.set(ylabel="resident memory, MiB", title="memory; what is shaded is not judged")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def _latency(axes: Axes, soak: Soak) -> None:
    minutes = soak.measured.minutes
    middles = [one.minute + 0.5 for one in minutes]
    axes.plot(middles, [one.p95 for one in minutes], label="p95")
    axes.plot(middles, [one.p50 for one in minutes], label="p50")
    failed = [(middle, one.p95) for middle, one in zip(middles, minutes, strict=True) if one.failed]
    if failed:
        axes.plot(*zip(*failed, strict=True), "x", color="black", label="some failed")
    axes.set(xlabel="minutes", ylabel="latency, ms", title="latency, by the minute")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
