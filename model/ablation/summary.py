"""The results of a row's seeds together."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable

from model.ablation.config import AblationConfig, Row
from model.ablation.result import Outcome, Result


@dataclasses.dataclass(frozen=True)
class Summary:
    """A row and what its runs came to."""

    row: Row
    outcomes: tuple[Outcome, ...]

    @property
    def results(self) -> list[Result]:
        """Of the runs that are done."""
        return [o.result for o in self.outcomes if o.result]

    @property
    def failures(self) -> list[str]:
        """Why runs failed."""
        return [f"{o.run}: {o.failure}" for o in self.outcomes if o.failure]

    def mean(self, value: Callable[[Result], float]) -> float:
        """Over the runs that are done, of which there must be one."""
        return statistics.fmean(map(value, self.results))

    @property
    def bleu(self) -> float:
        """Mean over seeds."""
        return self.mean(lambda result: result.scores.bleu)

    def bleu_of(self, words: str) -> float | None:
        """Mean over seeds on the sentences of these lengths; None if the set has none."""
        found = [p.bleu for r in self.results for p in r.by_length if p.words == words]
        return statistics.fmean(found) if found else None


def summarise(config: AblationConfig) -> list[Summary]:
    """What lies in the runs' folders, in the order of the rows.

    Raises:
        DragomanError: a result cannot be read.
    """
    outcomes = [Outcome.of(run) for run in config.runs()]
    return [
        Summary(row, tuple(o for o in outcomes if o.run.name == row.name)) for row in config.rows
    ]
