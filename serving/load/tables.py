"""A report as Markdown: one table for each kind of load, and remarks."""

from __future__ import annotations

import collections
import math
from collections.abc import Callable, Iterable, Sequence

from serving.load.measurement import Measurement
from serving.load.report import Report

BUSY_CORES = 0.5
"""A generator that uses more may be what is measured."""

Column = tuple[str, Callable[[Measurement], str]]


def to_markdown(report: Report) -> str:
    """The tables and remarks."""
    closed = [one for one in report.measurements if one.concurrency is not None]
    opened = [one for one in report.measurements if one.concurrency is None]
    parts = [_setting(report)]
    if closed:
        columns: list[Column] = [("clients", lambda m: str(m.concurrency)), *_COLUMNS]
        parts.append("Closed loop: each client waits for its answer.\n\n" + _table(closed, columns))
    if opened:
        columns = [
            ("sentences/s due", lambda m: _number(m.rate)),
            *_COLUMNS,
            (f"p95 <= {report.limit:g} ms", _verdict),
        ]
        opened.sort(key=lambda m: (m.protocol, m.rate or 0.0))
        parts.append(
            "Open loop: Poisson arrivals, latency from when due.\n\n" + _table(opened, columns)
        )
    return "\n\n".join([*parts, "\n".join(f"- {remark}" for remark in _remarks(report))])


_COLUMNS: list[Column] = [
    ("sentences/s", lambda m: _number(m.sentences_per_second)),
    ("target tokens/s", lambda m: _number(m.tokens_per_second, 0)),
    ("p50", lambda m: _number(m.answered.p50, 0)),
    ("p90", lambda m: _number(m.answered.p90, 0)),
    ("p95", lambda m: _number(m.answered.p95, 0)),
    ("p99 ms", lambda m: _number(m.answered.p99, 0)),
    ("requests", lambda m: f"{m.requests:,}"),
    ("failed", lambda m: str(sum(m.failures.values()))),
    ("rows/step", lambda m: _served(m, "rows_per_step")),
    ("step ms", lambda m: _served(m, "step_milliseconds")),
    ("wait ms", lambda m: _served(m, "wait_milliseconds")),
]


def _setting(report: Report) -> str:
    options = ", ".join(f"{name} {value:g}" for name, value in report.options.items())
    return (
        f"{report.machine}; {report.sentences:,} sentences of {report.text}, "
        f"{report.words_per_sentence:.1f} words each, "
        f"{report.texts_per_request} a request; {options}"
    )


def _table(measurements: Sequence[Measurement], columns: Sequence[Column]) -> str:
    columns = [("protocol", lambda m: m.protocol), *columns]
    rows = [[cell(one) for _, cell in columns] for one in measurements]
    names = [name for name, _ in columns]
    known = [n for n in range(len(names)) if any(row[n] for row in rows)]
    lines = [[names[n] for n in known], ["---"] * len(known)]
    lines += [[row[n] or "-" for n in known] for row in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _number(value: float | None, digits: int = 1) -> str:
    """Nothing where there is no number: a column of nothing is left out."""
    if value is None or math.isnan(value):
        return ""
    return f"{value:,.{digits}f}"


def _served(measurement: Measurement, name: str) -> str:
    return _number(getattr(measurement.server, name)) if measurement.server else ""


def _verdict(measurement: Measurement) -> str:
    if measurement.holds:
        return "yes"
    return "no, given up" if measurement.gave_up else "no"


def _remarks(report: Report) -> Iterable[str]:
    for protocol, rate in report.highest.items():
        found = f"{rate:.1f} sentences/s" if rate else "none"
        yield f"highest rate with p95 <= {report.limit:g} ms over {protocol}: {found}"
    if report.compared:
        yield f"answers that differ from what was expected: {report.different}"
    yield from _failures(report.measurements)
    if all(one.server is None for one in report.measurements):
        yield "the server's metrics could not be had; name their address with --metrics HOST:PORT"
    yield from _generator(report.measurements)


def _failures(measurements: Sequence[Measurement]) -> Iterable[str]:
    counts: collections.Counter[str] = collections.Counter()
    for one in measurements:
        counts.update(one.failures)
    for kind, count in counts.most_common():
        mine = [one for one in measurements if kind in one.failures]
        waits = [one.failed.p50 for one in mine if one.failed]
        yield (
            f"failed, {kind}: {count:,} requests (median wait up to {max(waits):,.0f} ms), such "
            f"as: {mine[0].examples[kind]}"
        )


def _generator(measurements: Sequence[Measurement]) -> Iterable[str]:
    cores = max((one.generator_cores for one in measurements), default=0.0)
    lag = max((one.generator_lag for one in measurements), default=0.0)
    note = f"the load generator used up to {cores:.2f} cores and sent {lag:.0f} ms late at most"
    if cores > BUSY_CORES:
        note += "; that is much: run it on another machine, or send less"
    yield note
