"""What a comparison found, as JSON and as a Markdown table."""

from __future__ import annotations

import dataclasses
import json
import math
import statistics
from collections.abc import Sequence
from typing import Any

from bench.served.triton_cost import TritonCost
from serving.load.window import LATE_SHARE, Window


@dataclasses.dataclass(frozen=True)
class Point:
    """A window of load in short; latencies in milliseconds, infinite where it is an error."""

    rate: float
    p50: float
    p95: float
    p99: float
    sent: int
    errors: int
    holds: bool
    generator_cores: float
    generator_lag: float

    @classmethod
    def of(cls, window: Window, rate: float, limit: float) -> Point:
        """Of a window at that rate, judged by `limit` milliseconds."""
        return cls(
            rate=rate,
            p50=window.percentile(0.5),
            p95=window.percentile(0.95),
            p99=window.percentile(0.99),
            sent=len(window.outcomes),
            errors=len(window.failed),
            holds=window.holds(limit),
            generator_cores=window.cores,
            generator_lag=window.lag,
        )


@dataclasses.dataclass
class Results:
    """All figures of a comparison; `points` and `rates` by contestant, rates in sentences/s."""

    machine: str
    text: str
    sentences: int
    source_tokens: float
    limit: float
    seconds: float
    settings: str = ""
    calibration: dict[str, float] = dataclasses.field(default_factory=dict)
    translations: dict[str, list[list[int]]] = dataclasses.field(default_factory=dict)
    """Ids, of the same sentences: whether both do the same work."""

    rates: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    search: dict[str, list[Point]] = dataclasses.field(default_factory=dict)
    loads: dict[str, dict[str, list[Point]]] = dataclasses.field(default_factory=dict)
    cost: TritonCost | None = None

    def rate(self, name: str) -> float:
        """The median over rounds of the highest rate that held."""
        return statistics.median(self.rates[name])

    @property
    def identical_translations(self) -> float:
        """Share of the sentences that both translated alike."""
        sentences = list(zip(*self.translations.values(), strict=True))
        alike = sum(all(ids == found[0] for ids in found) for found in sentences)
        return alike / max(len(sentences), 1)

    @property
    def output_tokens(self) -> dict[str, int]:
        """Of these translations, by contestant."""
        return {name: sum(map(len, found)) for name, found in self.translations.items()}

    def to_json(self) -> str:
        """All figures; what is infinite or undefined becomes null."""
        values = dataclasses.asdict(self)
        del values["translations"]
        values["identical_translations"] = self.identical_translations
        values["output_tokens"] = self.output_tokens
        return json.dumps(_plain(values), indent=2)

    def to_markdown(self) -> str:
        """The tables and remarks."""
        parts = [self._setting(), *self._calibration(), self._rates(), self._loads()]
        return "\n\n".join([*parts, "\n".join(self._remarks())])

    def _setting(self) -> str:
        return (
            f"{self.machine}; {self.sentences:,} sentences of {self.text}, "
            f"{self.source_tokens:.1f} tokens each; windows of {self.seconds:g} s"
        )

    def _calibration(self) -> list[str]:
        if not self.calibration:
            return []
        lines = ["| CTranslate2 behind Triton | sentences/s in short windows |", "|---|---|"]
        lines += [f"| {name} | {rate:.1f} |" for name, rate in self.calibration.items()]
        return ["\n".join(lines)]

    def _rates(self) -> str:
        share = f"p{100 * (1 - LATE_SHARE):.0f}"
        lines = [
            f"| server | sentences/s at {share} <= {self.limit:g} ms | rounds |",
            "|---|---|---|",
        ]
        for name, rates in self.rates.items():
            rounds = ", ".join(f"{rate:.1f}" for rate in rates)
            lines.append(f"| {name} | {self.rate(name):.1f} | {rounds} |")
        return "\n".join(lines)

    def _loads(self) -> str:
        lines = [
            "| server | load | sentences/s | p50 ms | p95 ms | p99 ms | requests | errors |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for name, loads in self.loads.items():
            for load, points in loads.items():
                figures = (median(points, kind) for kind in ("rate", "p50", "p95", "p99"))
                cells = [name, load, *(f"{figure:.1f}" for figure in figures)]
                cells += [str(sum(p.sent for p in points)), str(sum(p.errors for p in points))]
                lines.append(f"| {' | '.join(cells)} |")
        return "\n".join(lines)

    def _remarks(self) -> list[str]:
        remarks = [f"CTranslate2's settings: {self.settings}."]
        if self.translations:
            tokens = ", ".join(f"{name} {count:,}" for name, count in self.output_tokens.items())
            remarks.append(
                f"Identical translations: {self.identical_translations:.1%}; "
                f"output tokens: {tokens}."
            )
        if self.cost:
            remarks.append(
                f"Triton's cost: {self.cost.cost:.2f} ms (one sentence alone: p50 "
                f"{self.cost.served:.2f} ms over gRPC, {self.cost.in_process:.2f} ms in process)."
            )
        points = [
            point for loads in self.loads.values() for found in loads.values() for point in found
        ]
        cores = max((point.generator_cores for point in points), default=0.0)
        lag = max((point.generator_lag for point in points), default=0.0)
        remarks.append(
            f"The load generator used up to {cores:.2f} cores and sent {lag:.0f} ms late at most."
        )
        return remarks


def median(points: Sequence[Point], kind: str) -> float:
    """Of one figure over rounds."""
    return statistics.median(float(getattr(point, kind)) for point in points)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
