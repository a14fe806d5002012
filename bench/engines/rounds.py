"""Timing that is fair on a machine that drifts: contenders take turns in every round."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence

from bench.engines.contender import Contender

Translations = list[list[int]]


@dataclasses.dataclass(frozen=True)
class Entry:
    """A contender and how many rounds it takes part in: slow ones in fewer."""

    contender: Contender
    rounds: int

    @property
    def label(self) -> str:
        """Names it among all entries."""
        return f"{self.contender.name} {self.contender.precision}"


@dataclasses.dataclass(frozen=True)
class Timing:
    """What the rounds of one task gave.

    Attributes:
        seconds: by label, one for each round, in the order of the rounds.
        translations: by label, of the warm-up.
    """

    seconds: dict[str, list[float]]
    translations: dict[str, Translations]

    def ratios(self, theirs: str, ours: str) -> list[float]:
        """Their time over ours, of each round that both took part in."""
        both = zip(self.seconds[theirs], self.seconds[ours], strict=False)
        return [their / our for their, our in both]

    def ratio(self, theirs: str, ours: str) -> float:
        """The median of the rounds' ratios."""
        return statistics.median(self.ratios(theirs, ours))

    def same(self, label: str, other: str) -> int:
        """How many sentences both translated alike."""
        pairs = zip(self.translations[label], self.translations[other], strict=True)
        return sum(one == two for one, two in pairs)


def take_turns(
    entries: Sequence[Entry],
    translate: Callable[[Contender], Translations],
    pause: float,
    on_done: Callable[[], object],
) -> Timing:
    """Run one warm-up and the rounds, each in another order.

    Args:
        translate: the task.
        pause: seconds before each turn. OpenMP's threads spin for up to 0.2 s after they have
            finished, and would take processor time from whoever comes next.
        on_done: called after each turn.
    """
    seconds: dict[str, list[float]] = {entry.label: [] for entry in entries}
    translations: dict[str, Translations] = {}
    for number in range(1 + max(entry.rounds for entry in entries)):
        first = number % len(entries)
        for entry in (*entries[first:], *entries[:first]):
            if number > entry.rounds or entry.rounds == 0:
                continue
            time.sleep(pause)
            began = time.perf_counter()
            found = translate(entry.contender)
            took = time.perf_counter() - began
            if number == 0:
                translations[entry.label] = found
            else:
                seconds[entry.label].append(took)
            on_done()
    return Timing(seconds, translations)


def turns(entries: Sequence[Entry]) -> int:
    """Turns that `take_turns` makes of these entries, warm-up included."""
    return sum(1 + entry.rounds for entry in entries)
