"""What a load test does, in its order: warm up, closed loops, open loops, the highest rate."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence

from tqdm import tqdm

from serving.errors import DragomanError
from serving.load.report import Report
from serving.load.requests import TextRequest
from serving.load.search import highest_rate
from serving.load.sender import Protocol
from serving.load.session import Session, Target

WARM_UP_CLIENTS = 16
"""Enough to fill the server, so that its speed then is a first guess at the highest rate."""

GUESS_SHARE = 0.7
"""Of that speed: a rate at which most servers still answer in time."""

GUESS_FACTOR = 1.25
"""Step of the search from there."""

FIRST_RATE = 10.0
"""Sentences a second to begin with where nothing is known."""

TOLERANCE = 0.05
"""Relative, of the highest rate."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """What to measure over each protocol.

    Attributes:
        protocols: in turn.
        concurrencies: of closed loops.
        rates: of open loops, in sentences a second.
        search: also find the highest rate that holds the limit.
        seconds: of a window.
        warm_up_seconds: of load that is not counted; 0 for none.
        seed: of arrivals and of the choice of sentences.
    """

    protocols: Sequence[Protocol]
    concurrencies: Sequence[int]
    rates: Sequence[float]
    search: bool
    seconds: float
    warm_up_seconds: float
    seed: int


def run_plan(plan: Plan, target: Target, requests: Sequence[TextRequest], report: Report) -> None:
    """Measure, and add each window to the report as it ends.

    Raises:
        DragomanError: a server does not translate.
    """
    known = plan.warm_up_seconds + plan.seconds * (len(plan.concurrencies) + len(plan.rates))
    bar = tqdm(
        total=int(known * len(plan.protocols)), unit="s", file=sys.stderr, disable=None, leave=False
    )
    with bar:
        for protocol in plan.protocols:
            with Session(target, protocol, requests, plan.seed, bar) as session:
                session.check()
                _measure(plan, session, report)


def _measure(plan: Plan, session: Session, report: Report) -> None:
    guess = 0.0
    if plan.warm_up_seconds:
        warm = session.closed(WARM_UP_CLIENTS, plan.warm_up_seconds)
        guess = GUESS_SHARE * warm.sentences_per_second
    for concurrency in plan.concurrencies:
        report.measurements.append(session.closed(concurrency, plan.seconds))
    for rate in plan.rates:
        report.measurements.append(session.open(rate, plan.seconds))
    if plan.search:
        report.highest[session.protocol.value] = search_rate(session, plan.seconds, report, guess)


def search_rate(session: Session, seconds: float, report: Report, guess: float) -> float | None:
    """The highest rate that holds, or None if none does; `guess` is where to begin, if over 0."""

    def holds(rate: float) -> bool:
        measured = session.open(rate, seconds, searching=True)
        report.measurements.append(measured)
        return bool(measured.holds)

    try:
        if guess > 0:
            return highest_rate(holds, guess, GUESS_FACTOR, TOLERANCE)
        return highest_rate(holds, FIRST_RATE, tolerance=TOLERANCE)
    except DragomanError:
        return None
