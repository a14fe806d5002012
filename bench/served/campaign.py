"""The comparison from start to end: settings, highest rates, latencies, Triton's cost."""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from tqdm import tqdm

from bench.served.client import Contestant, Ids, ctranslate2_inputs, own_inputs
from bench.served.ctranslate2_repository import SETTINGS, write_ctranslate2_repository
from bench.served.own_repository import write_own_repository
from bench.served.results import Results
from bench.served.session import Session, WarmUp, session
from bench.served.triton_cost import measure_cost

OURS, THEIRS = "Dragoman", "CTranslate2"
AGREEMENT_SENTENCES = 200
COST_SENTENCES = 310
FIRST_FACTOR = 2.0
LATER_FACTOR = 1.25
"""Step of a search that begins at a rate found before."""

CALIBRATION_TOLERANCE = 0.1


@dataclasses.dataclass(frozen=True)
class Plan:
    """What to measure.

    Attributes:
        bundle: folder of our exported model.
        converted: folder of the same model in CTranslate2's format.
        settings: names of CTranslate2's settings to try; a single one is taken as it is.
        rounds: how often each server is searched and measured, in turn.
        seconds: of a window.
        calibration_seconds: of a window that compares settings.
        warm_up_seconds: of load, at `start_rate`, on a server that has just started.
        limit: milliseconds for the 95th percentile.
        tolerance: relative, of the highest rate.
        start_rate: sentences a second to begin with.
        seed: of arrivals.
    """

    bundle: Path
    converted: Path
    settings: Sequence[str] = tuple(SETTINGS)
    rounds: int = 3
    seconds: float = 20.0
    calibration_seconds: float = 8.0
    warm_up_seconds: float = 3.0
    limit: float = 500.0
    tolerance: float = 0.05
    start_rate: float = 20.0
    seed: int = 1


class Campaign:
    """Runs a plan; each phase adds its figures to `results`."""

    def __init__(self, plan: Plan, sentences: Sequence[Ids], results: Results, work: Path) -> None:
        """Write the repositories into the folder `work`."""
        self._plan = plan
        self._sentences = sentences
        self._work = work
        self._results = results
        self._bar = tqdm(unit="window", file=sys.stderr, disable=None)
        self._ours = Contestant(OURS, work / "ours", own_inputs)
        write_own_repository(self._ours.repository, plan.bundle)
        self._theirs = self._ctranslate2(plan.settings[0])

    def run(self) -> None:
        """All phases."""
        with self._bar:
            self._choose_settings()
            for number in range(self._plan.rounds):
                self._search_round(number)
            for number in range(self._plan.rounds):
                self._latency_round(number)

    def _ctranslate2(self, settings: str) -> Contestant:
        folder = Path(tempfile.mkdtemp(prefix="theirs-", dir=self._work))
        write_ctranslate2_repository(folder, self._plan.converted, SETTINGS[settings])
        return Contestant(THEIRS, folder, ctranslate2_inputs)

    def _up(self, contestant: Contestant, step: str) -> AbstractContextManager[Session]:
        self._bar.set_description(f"{contestant.name}, {step}")
        return session(
            contestant,
            self._sentences,
            self._plan.limit,
            WarmUp(self._plan.start_rate, self._plan.warm_up_seconds),
            self._work / "server.log",
            self._bar,
        )

    def _choose_settings(self) -> None:
        """Take CTranslate2's settings of the highest rate in short windows."""
        plan, found = self._plan, self._results.calibration
        self._results.settings = plan.settings[0]
        if len(plan.settings) == 1:
            return
        start, factor = plan.start_rate, FIRST_FACTOR
        for name in plan.settings:
            contestant = self._ctranslate2(name)
            with self._up(contestant, name) as server:
                rate, _ = server.highest_rate(
                    start, factor, CALIBRATION_TOLERANCE, plan.calibration_seconds, plan.seed
                )
            if rate > max(found.values(), default=0.0):
                self._theirs, self._results.settings = contestant, name
            found[name] = rate
            start, factor = rate, LATER_FACTOR

    def _search_round(self, number: int) -> None:
        """The highest rate of each; in later rounds from the one found before."""
        plan, results = self._plan, self._results
        for contestant in (self._ours, self._theirs):
            rates = results.rates.setdefault(contestant.name, [])
            start = rates[-1] if rates else plan.start_rate
            factor = LATER_FACTOR if rates else FIRST_FACTOR
            with self._up(contestant, f"highest rate, round {number + 1}") as server:
                if not rates:
                    translations = server.translations(AGREEMENT_SENTENCES)
                    results.translations[contestant.name] = translations
                rate, points = server.highest_rate(
                    start, factor, plan.tolerance, plan.seconds, plan.seed + 100 * number
                )
            rates.append(rate)
            results.search.setdefault(contestant.name, []).extend(points)

    def _latency_round(self, number: int) -> None:
        """Each at half of its own highest rate and at half of the other's."""
        plan, results = self._plan, self._results
        for contestant in (self._ours, self._theirs):
            loads = results.loads.setdefault(contestant.name, {})
            with self._up(contestant, f"latencies, round {number + 1}") as server:
                for name in (OURS, THEIRS):
                    # The same seed for both: at equal rates they get equal requests.
                    rate, seed = results.rate(name) / 2, plan.seed + 1000 + number
                    point = server.point(rate, plan.seconds, seed)
                    loads.setdefault(f"half of {name}'s highest", []).append(point)
                if contestant is self._ours and results.cost is None:
                    sentences = self._sentences[:COST_SENTENCES]
                    results.cost = measure_cost(server.address, plan.bundle, sentences)
