"""What a load test found, as JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any

from serving.load.failures import Kind
from serving.load.measurement import Measurement


@dataclasses.dataclass
class Report:
    """All figures, and what they were taken with.

    Attributes:
        machine: on which the load was generated.
        servers: host:port of each protocol.
        text: name of the file of sentences.
        sentences: how many of it were sent, in turn or at random.
        words_per_sentence: on average, as divided by spaces.
        texts_per_request: sentences that went together.
        options: of every request.
        limit: milliseconds for the 95th percentile.
        compared: every answer was held to an expected one.
        measurements: windows, in their order.
        highest: by protocol, the most sentences a second at which the limit held; None where not
            even the lowest rate held.
    """

    machine: str
    servers: Mapping[str, str]
    text: str
    sentences: int
    words_per_sentence: float
    texts_per_request: int
    options: Mapping[str, float]
    limit: float
    compared: bool
    measurements: list[Measurement] = dataclasses.field(default_factory=list)
    highest: dict[str, float | None] = dataclasses.field(default_factory=dict)

    @property
    def different(self) -> int:
        """Requests whose translation was not the expected one."""
        return sum(one.failures.get(Kind.DIFFERENT, 0) for one in self.measurements)

    def to_json(self) -> str:
        """All figures; what is infinite or undefined becomes null."""
        values = plain({**dataclasses.asdict(self), "different": self.different})
        return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def plain(value: Any) -> Any:
    """The same without numbers that JSON does not have."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
