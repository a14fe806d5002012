"""Latency over load, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from serving.load.measurement import Measurement
from serving.load.report import Report

PERCENTILES = (("p50", "o", 0.45), ("p95", "s", 1.0), ("p99", "^", 0.7))
"""Each with its marker and how solid it is."""


def draw(report: Report, path: Path) -> None:
    """Write a PNG: a panel for open loops and one for closed ones, as far as there are any."""
    closed = [one for one in report.measurements if one.concurrency is not None]
    opened = [one for one in report.measurements if one.concurrency is None]
    kinds = [(part, draw) for part, draw in ((opened, _open), (closed, _closed)) if part]
    figure = Figure(figsize=(1 + 6 * max(1, len(kinds)), 5), layout="constrained")
    for axes, (part, draw_panel) in zip(
        figure.subplots(1, max(1, len(kinds)), squeeze=False)[0], kinds, strict=False
    ):
        draw_panel(axes, part, report)
        axes.axhline(report.limit, color="black", linewidth=0.8, linestyle="--")
        axes.set(yscale="log", ylabel="latency, ms")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.grid(alpha=0.3, which="both")
        axes.legend(fontsize="small", framealpha=0.6)
    options = ", ".join(f"{name} {value:g}" for name, value in report.options.items())
    figure.suptitle(f"{report.text}, {report.texts_per_request} a request, {options}")
    figure.savefig(path, dpi=120)


def _open(axes: Axes, measurements: Sequence[Measurement], report: Report) -> None:
    for number, protocol in enumerate(_protocols(measurements)):
        mine = sorted(
            (one for one in measurements if one.protocol == protocol), key=lambda m: m.rate or 0.0
        )
        whole = [one for one in mine if not one.gave_up]  # the others' slowest never came
        _latencies(axes, whole, [one.rate or 0.0 for one in whole], protocol, number)
        lost = [one for one in mine if not one.holds]
        axes.plot(
            [one.rate or 0.0 for one in lost],
            [one.answered.p95 for one in lost],
            linestyle="none",
            marker="x",
            markersize=11,
            color="black",
            label="limit not held" if number == 0 and lost else None,
        )
        highest = report.highest.get(protocol)
        if highest:
            label = f"highest, {protocol}: {highest:.1f}/s"
            axes.axvline(highest, color=f"C{number}", linestyle=":", label=label)
    axes.set(title="open loop", xlabel="sentences due a second (Poisson)")


def _closed(axes: Axes, measurements: Sequence[Measurement], _: Report) -> None:
    for number, protocol in enumerate(_protocols(measurements)):
        mine = [one for one in measurements if one.protocol == protocol]
        speeds = [one.sentences_per_second for one in mine]
        _latencies(axes, mine, speeds, protocol, number)
        for one, speed in zip(mine, speeds, strict=True):
            axes.annotate(
                f"{one.concurrency}",
                (speed, one.answered.p50),
                textcoords="offset points",
                xytext=(0, -12),
                fontsize="small",
                color=f"C{number}",
                ha="center",
            )
    axes.set(title="closed loop, by clients", xlabel="sentences answered a second")


def _latencies(
    axes: Axes, mine: Sequence[Measurement], places: Sequence[float], protocol: str, number: int
) -> None:
    for name, marker, alpha in PERCENTILES:
        axes.plot(
            places,
            [getattr(one.answered, name) for one in mine],
            marker=marker,
            linewidth=1,
            color=f"C{number}",
            alpha=alpha,
            label=f"{protocol}, {name}",
        )


def _protocols(measurements: Sequence[Measurement]) -> list[str]:
    return list(dict.fromkeys(one.protocol for one in measurements))
