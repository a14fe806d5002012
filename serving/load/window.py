"""What one stretch of load gave."""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Sequence

from serving.load.failures import Failure

LATE_SHARE = 0.05
"""Share of requests that may take longer than the limit: it bounds the 95th percentile."""


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one request.

    Attributes:
        due: seconds from the start of the load.
        latency: milliseconds from when it was due to its answer or its failure.
        failure: None where there is an answer.
    """

    due: float
    latency: float
    failure: Failure | None = None


@dataclasses.dataclass(frozen=True)
class Window:
    """One stretch of load.

    Attributes:
        seconds: during which requests were sent.
        outcomes: of all requests.
        rate: requests due a second; None where clients wait for their answers.
        backlog: requests still unanswered at the end.
        gave_up: sending stopped early, because too many were late for any percentile to mend.
        lag: milliseconds by which the generator sent a request late, at most.
        cores: CPU seconds that the generator used in a second.
    """

    seconds: float
    outcomes: Sequence[Outcome]
    rate: float | None
    backlog: int
    gave_up: bool
    lag: float
    cores: float

    @property
    def answered(self) -> list[float]:
        """Latencies of the requests with an answer."""
        return [one.latency for one in self.outcomes if one.failure is None]

    @property
    def failed(self) -> list[float]:
        """How long those without one took to fail."""
        return [one.latency for one in self.outcomes if one.failure is not None]

    @property
    def failures(self) -> dict[str, int]:
        """How many requests failed, by kind."""
        return dict(collections.Counter(f.kind.value for f in self._failures()))

    @property
    def examples(self) -> dict[str, str]:
        """The first message of each kind."""
        return {f.kind.value: f.message for f in reversed(self._failures())}

    @property
    def throughput(self) -> float:
        """Answers a second, of those that came while requests were sent."""
        end = self.seconds
        in_time = [one for one in self.outcomes if one.due + one.latency / 1000 <= end]
        return sum(one.failure is None for one in in_time) / self.seconds

    def percentile(self, share: float) -> float:
        """Latency of all requests in milliseconds; those that failed never came."""
        return percentile([*self.answered, *[math.inf] * len(self.failed)], share)

    def holds(self, limit: float) -> bool:
        """Whether the 95th percentile is within `limit` milliseconds, and no queue piles up.

        By Little's law, more than rate x limit unanswered requests (and three standard deviations
        of chance) take longer than the limit on average.
        """
        usual = math.inf if self.rate is None else self.rate * limit / 1000
        piled_up = self.backlog > usual + 3 * math.sqrt(usual)
        return not (self.gave_up or piled_up) and self.percentile(1 - LATE_SHARE) <= limit

    def _failures(self) -> list[Failure]:
        return [one.failure for one in self.outcomes if one.failure is not None]


def percentile(latencies: Sequence[float], share: float) -> float:
    """The smallest latency that at least `share` of them do not exceed; NaN where there is none."""
    if not latencies:
        return math.nan
    return sorted(latencies)[max(math.ceil(share * len(latencies)) - 1, 0)]
