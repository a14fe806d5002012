"""The server's own counters, as its metrics port gives them, and how far a load moved them."""

from __future__ import annotations

import dataclasses
import http.client
import urllib.error
import urllib.request
from collections.abc import Mapping

TIMEOUT_SECONDS = 5.0
STEPS, STEP_ROWS = "dragoman_steps_total", "dragoman_step_rows_total"
STEP_SECONDS = "dragoman_step_seconds_total"
SENTENCES, OUTPUT_TOKENS = "dragoman_sentences_total", "dragoman_output_tokens_total"
JOIN_SECONDS, JOINS = "dragoman_first_join_seconds_sum", "dragoman_first_join_seconds_count"


@dataclasses.dataclass(frozen=True)
class Counters:
    """Values by sample, the name with its labels as the server writes them."""

    values: Mapping[str, float]

    @classmethod
    def parse(cls, text: str) -> Counters:
        """Counters of the text format of Prometheus; buckets of histograms are left out."""
        names: set[str] = set()
        values: dict[str, float] = {}
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                name, _, kind = line.removeprefix("# TYPE ").rpartition(" ")
                if kind == "counter" and not name.endswith("_bucket"):
                    names.add(name)
            elif line and not line.startswith("#"):
                sample, _, value = line.rpartition(" ")
                if _name(sample) in names:
                    values[sample] = float(value)
        return cls(values)

    @classmethod
    def scrape(cls, address: str) -> Counters | None:
        """Of the server whose metrics port is at `address`; None where there is none."""
        try:
            url = f"http://{address}/metrics"
            with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as answer:
                return cls.parse(answer.read().decode("utf-8"))
        except (OSError, ValueError, urllib.error.URLError, http.client.HTTPException):
            return None

    def since(self, before: Counters) -> Counters:
        """How far each has moved; those that have not are left out."""
        moved = {
            sample: value - before.values.get(sample, 0.0) for sample, value in self.values.items()
        }
        return Counters({sample: value for sample, value in moved.items() if value})

    def total(self, name: str) -> float | None:
        """The sum over all labels; None where there is no such counter."""
        found = [value for sample, value in self.values.items() if _name(sample) == name]
        return sum(found) if found else None

    def ratio(self, numerator: str, denominator: str) -> float | None:
        """One total over another; None where one is missing."""
        above, below = self.total(numerator), self.total(denominator)
        return above / below if above is not None and below else None


def _name(sample: str) -> str:
    return sample.partition("{")[0]
