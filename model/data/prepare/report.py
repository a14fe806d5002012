"""How many pairs were removed, why, and where the first of them stand."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from model.data.prepare.cleaning import Reason

EXAMPLES = 3
"""Removed pairs of each reason that are shown."""

_SHOWN = 80
"""Characters of a text that are shown."""


@dataclasses.dataclass
class Report:
    """What cleaning did.

    Attributes:
        read: pairs read.
        removed: pairs removed, by reason.
        examples: by reason, the first removed: file, line and the start of the text.
    """

    read: int = 0
    removed: dict[Reason, int] = dataclasses.field(default_factory=dict)
    examples: dict[Reason, list[str]] = dataclasses.field(default_factory=dict)

    @property
    def kept(self) -> int:
        """Pairs that are left."""
        return self.read - sum(self.removed.values())

    def remove(self, reason: Reason, place: str, detail: str) -> None:
        """Count a removed pair."""
        self.removed[reason] = self.removed.get(reason, 0) + 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < EXAMPLES:
            shown = detail if len(detail) <= _SHOWN else f"{detail[:_SHOWN]}..."
            examples.append(f"{place}: {shown}")

    @classmethod
    def total(cls, reports: Iterable[Report]) -> Report:
        """All reports, in their order, as one."""
        total = cls()
        for report in reports:
            total.read += report.read
            for reason, count in report.removed.items():
                total.removed[reason] = total.removed.get(reason, 0) + count
                examples = [*total.examples.get(reason, []), *report.examples[reason]]
                total.examples[reason] = examples[:EXAMPLES]
        return total

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "read": self.read,
            "kept": self.kept,
            "removed": {str(r): self.removed[r] for r in Reason if r in self.removed},
            "examples": {str(r): self.examples[r] for r in Reason if r in self.examples},
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Report:
        """The inverse of `to_dict`."""
        removed = {Reason(key): count for key, count in values["removed"].items()}
        examples = {Reason(key): list(texts) for key, texts in values["examples"].items()}
        return cls(values["read"], removed, examples)

    def __str__(self) -> str:
        lines = [f"{self.read:,} pairs read, {self.kept:,} kept"]
        for reason in filter(self.removed.__contains__, Reason):
            lines.append(f"{self.removed[reason]:12,} removed: {reason}")
            lines += [f"{'':14}{example}" for example in self.examples[reason]]
        return "\n".join(lines)
