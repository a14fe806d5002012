"""Latency over rate, as a picture."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from bench.served.results import Point, Results


def draw(results: Results, path: Path) -> None:
    """Write a PNG: p50 and p95 of every window of whole length, for each server."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for number, name in enumerate(results.rates):
        points = sorted(_points(results, name), key=lambda point: point.rate)
        rates = [point.rate for point in points]
        colour = f"C{number}"
        axes.plot(rates, [p.p95 for p in points], "o", color=colour, label=f"{name}, p95")
        axes.plot(
            rates, [p.p50 for p in points], ".", color=colour, alpha=0.5, label=f"{name}, p50"
        )
        axes.axvline(results.rate(name), color=colour, linewidth=0.8, linestyle=":")
    axes.axhline(results.limit, color="black", linewidth=0.8, linestyle="--")
    axes.set(yscale="log", xlabel="sentences a second (Poisson)", ylabel="latency, ms")
    axes.set_ylim(top=20 * results.limit)
    axes.set_title(f"beam 4, {results.text}")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    figure.savefig(path, dpi=120)


def _points(results: Results, name: str) -> list[Point]:
    loads = results.loads.get(name, {}).values()
    return [*results.search.get(name, []), *(point for points in loads for point in points)]
