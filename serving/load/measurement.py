"""A window of load in short, with what the server counted meanwhile."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Mapping

from serving.load import counters
from serving.load.counters import Counters
from serving.load.window import Window, percentile

MINUTE = 60


@dataclasses.dataclass(frozen=True)
class Latencies:
    """Percentiles in milliseconds; NaN where there is no request."""

    p50: float
    p90: float
    p95: float
    p99: float
    mean: float
    largest: float

    @classmethod
    def of(cls, latencies: list[float]) -> Latencies:
        """Of these."""
        return cls(
            p50=percentile(latencies, 0.5),
            p90=percentile(latencies, 0.9),
            p95=percentile(latencies, 0.95),
            p99=percentile(latencies, 0.99),
            mean=statistics.fmean(latencies) if latencies else math.nan,
            largest=max(latencies, default=math.nan),
        )


@dataclasses.dataclass(frozen=True)
class ServerFigures:
    """What the server's counters say of a window; None where it does not count that.

    Attributes:
        tokens_per_sentence: output tokens of a translation.
        rows_per_step: beams that take part in a decoding step, of all requests together.
        step_milliseconds: of a decoding step.
        wait_milliseconds: from a request's arrival at the translator until it takes part in a step.
        counters: how far each counter moved, by its name and labels.
    """

    tokens_per_sentence: float | None
    rows_per_step: float | None
    step_milliseconds: float | None
    wait_milliseconds: float | None
    counters: Mapping[str, float]

    @classmethod
    def of(cls, moved: Counters) -> ServerFigures:
        """Of the counters' differences."""
        step = moved.ratio(counters.STEP_SECONDS, counters.STEPS)
        wait = moved.ratio(counters.JOIN_SECONDS, counters.JOINS)
        return cls(
            tokens_per_sentence=moved.ratio(counters.OUTPUT_TOKENS, counters.SENTENCES),
            rows_per_step=moved.ratio(counters.STEP_ROWS, counters.STEPS),
            step_milliseconds=None if step is None else 1000 * step,
            wait_milliseconds=None if wait is None else 1000 * wait,
            counters=moved.values,
        )


@dataclasses.dataclass(frozen=True)
class Minute:
    """A minute of a long window: requests due in it."""

    minute: int
    requests: int
    failed: int
    p50: float
    p95: float


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One window.

    Attributes:
        protocol: by which requests came.
        concurrency: clients of a closed loop; None of an open one.
        rate: sentences due a second in an open loop; None of a closed one.
        searching: the window was one of the search for the highest rate.
        seconds: its length.
        requests: sent.
        sentences_per_second: answered while requests were sent.
        tokens_per_second: of their translations; None where the server does not count them.
        answered: latencies of the requests with an answer.
        failed: those of the others, until they failed.
        failures: how many requests failed, by kind.
        examples: one message of each kind.
        holds: an open loop's: the 95th percentile is within the limit; see `Window.holds`.
        backlog: requests without an answer when the last was due.
        gave_up: an open loop's: it ended early, because it could not hold the limit any more.
        generator_cores: CPU that the load generator used.
        generator_lag: milliseconds by which it sent a request late, at most.
        server: what the server counted; None where its metrics cannot be had.
        minutes: of a window of several.
    """

    protocol: str
    concurrency: int | None
    rate: float | None
    searching: bool
    seconds: float
    requests: int
    sentences_per_second: float
    tokens_per_second: float | None
    answered: Latencies
    failed: Latencies | None
    failures: Mapping[str, int]
    examples: Mapping[str, str]
    holds: bool | None
    backlog: int
    gave_up: bool
    generator_cores: float
    generator_lag: float
    server: ServerFigures | None
    minutes: list[Minute]

    @classmethod
    def of(
        cls,
        window: Window,
        *,
        protocol: str,
        concurrency: int | None,
        searching: bool,
        texts_per_request: int,
        limit: float,
        moved: Counters | None,
    ) -> Measurement:
        """Of a window, judged by `limit` milliseconds."""
        server = ServerFigures.of(moved) if moved is not None else None
        per_sentence = server.tokens_per_sentence if server else None
        speed = window.throughput * texts_per_request
        is_open = window.rate is not None
        return cls(
            protocol=protocol,
            concurrency=concurrency,
            rate=window.rate * texts_per_request if window.rate is not None else None,
            searching=searching,
            seconds=window.seconds,
            requests=len(window.outcomes),
            sentences_per_second=speed,
            tokens_per_second=None if per_sentence is None else speed * per_sentence,
            answered=Latencies.of(window.answered),
            failed=Latencies.of(window.failed) if window.failed else None,
            failures=window.failures,
            examples=window.examples,
            holds=window.holds(limit) if is_open else None,
            backlog=window.backlog,
            gave_up=window.gave_up,
            generator_cores=window.cores,
            generator_lag=window.lag,
            server=server,
            minutes=minutes(window),
        )


def minutes(window: Window) -> list[Minute]:
    """Each minute of a window of two or more."""
    if window.seconds < 2 * MINUTE:
        return []
    found = []
    for minute in range(int(window.seconds // MINUTE)):
        mine = [one for one in window.outcomes if int(one.due // MINUTE) == minute]
        answered = [one.latency for one in mine if one.failure is None]
        p50, p95 = percentile(answered, 0.5), percentile(answered, 0.95)
        found.append(Minute(minute, len(mine), len(mine) - len(answered), p50, p95))
    return found
