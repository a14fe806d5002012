"""The measured steps as a table or as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

from bench.native.measure import IN_PROCESS, NATIVE, SERVED, WAYS, Cell


@dataclasses.dataclass(frozen=True)
class Report:
    """All cells of one model.

    Attributes:
        machine: what it ran on.
        model: what was translated with.
        cells: measured.
    """

    machine: str
    model: str
    cells: Sequence[Cell]

    def to_json(self) -> str:
        """With every round."""
        return json.dumps(dataclasses.asdict(self), indent=2)

    def to_markdown(self) -> str:
        """Medians of the rounds, and medians of the rounds' ratios."""
        heads = ("sentences x beam", "steps", *(f"{way}, ms a step" for way in WAYS))
        ratios = ("BLS over the same graphs in process", "BLS over the default engine")
        lines = [self.machine, "", f"{self.model}:", "", _row((*heads, *ratios))]
        lines.append("|---" * (len(heads) + len(ratios)) + "|")
        differing = sum(cell.differing for cell in self.cells)
        end = f"Translations through BLS that are not the default engine's: {differing}."
        return "\n".join([*lines, *map(_cell_row, self.cells), "", end])


def _cell_row(cell: Cell) -> str:
    times = [f"{cell.median(way):.1f}" for way in WAYS]
    ratios = [f"{cell.ratio(NATIVE, other):.2f}" for other in (IN_PROCESS, SERVED)]
    return _row([f"{cell.sentences} x {cell.beam}", str(cell.steps), *times, *ratios])


def _row(values: Sequence[str]) -> str:
    return f"| {' | '.join(values)} |"
