"""What a soak found: a verdict, JSON and Markdown."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence

from bench.soak.memory import ALLOWED, Sample, Trend, trends
from serving.load.failures import Kind
from serving.load.measurement import Measurement
from serving.load.report import Report, plain
from serving.load.tables import to_markdown


@dataclasses.dataclass(frozen=True)
class Soak:
    """All figures of a soak.

    Attributes:
        load: the load test's report; its last measurement is the soak.
        capacity: sentences a second that the server holds at most.
        share: of the capacity, that was asked for.
        settle_seconds: before memory is judged.
        samples: of memory.
    """

    load: Report
    capacity: float
    share: float
    settle_seconds: float
    samples: Sequence[Sample]

    @property
    def measured(self) -> Measurement:
        """The soak's own window."""
        return self.load.measurements[-1]

    @property
    def trends(self) -> list[Trend]:
        """Of each process's memory."""
        return trends(self.samples, self.settle_seconds)

    @property
    def checks(self) -> dict[str, bool]:
        """What was asked for, and whether it is so."""
        failures = dict(self.measured.failures)
        different = failures.pop(Kind.DIFFERENT.value, 0)
        after = [sample for sample in self.samples if sample.seconds >= self.settle_seconds]
        there = all(trend.samples == len(after) for trend in self.trends)
        return {
            "no request failed": not failures and self.measured.requests > 0,
            "every translation equals the one made without a server": different == 0,
            "every process lived all the time": bool(self.trends) and there,
            f"memory of every process flat within {ALLOWED:.0%}": bool(self.trends)
            and all(trend.flat for trend in self.trends),
        }

    @property
    def passed(self) -> bool:
        """Whether all checks did."""
        return all(self.checks.values())

    def to_json(self) -> str:
        """Everything."""
        values = {
            "passed": self.passed,
            "checks": self.checks,
            "capacity": self.capacity,
            "share": self.share,
            "settle_seconds": self.settle_seconds,
            "trends": [dataclasses.asdict(trend) for trend in self.trends],
            "load": dataclasses.asdict(self.load),
            "samples": [dataclasses.asdict(sample) for sample in self.samples],
        }
        return json.dumps(plain(values), indent=2, ensure_ascii=False) + "\n"

    def to_markdown(self) -> str:
        """Verdict, memory and load."""
        measured = self.measured
        parts = [
            f"# Soak: {'passed' if self.passed else 'FAILED'}",
            f"{measured.seconds / 60:.1f} minutes at {measured.rate or 0:.1f} sentences/s, "
            f"{self.share:.0%} of the {self.capacity:.1f} that the server holds; "
            f"{measured.requests:,} requests, each compared with the translation made without a "
            "server.",
            "\n".join(f"- {'yes' if ok else '**NO**'}: {name}" for name, ok in self.checks.items()),
            "\n".join(self._memory()),
            to_markdown(self.load),
        ]
        return "\n\n".join(parts) + "\n"

    def _memory(self) -> Iterable[str]:
        yield (
            f"Resident memory after the first {self.settle_seconds / 60:g} minutes (proportional: "
            "the last sample's):"
        )
        yield ""
        yield "| process | median MiB | farthest from it | growth an hour | proportional MiB |"
        yield "|---|---|---|---|---|"
        last = self.samples[-1].processes if self.samples else {}
        for trend in self.trends:
            share = last[trend.name].proportional if trend.name in last else 0.0
            yield (
                f"| {trend.name} | {trend.median:.1f} | {trend.stray:.2%} | "
                f"{trend.growth_per_hour:+.2%} | {share:.1f} |"
            )
