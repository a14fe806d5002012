"""The YAML of an ablation: one base configuration, and what each row changes in it."""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from model.ablation.run import Run
from model.strict import build, load, plain
from model.training.config import PairFiles, TrainingConfig, flat
from serving.errors import ConfigError
from serving.text import VOCABULARY

SECTIONS = ("model", "optimisation")
"""What a row may change; data and vocabulary are the same for all."""

BUDGET = tuple(f"optimisation.{k}" for k in ("steps", "batch_tokens", "accumulate", "max_length"))
"""What no row may change: all take the same steps on the same batches."""

SET_BY_RUN = ("output", "seed", "threads")


@dataclasses.dataclass(frozen=True)
class Row:
    """One variation.

    Attributes:
        name: of its folder, in tables and for `--only`.
        paper: where the paper has it, such as `table 3, A`.
        claim: what the paper says about it.
        change: values by dotted key of a training configuration; the base row has none.
        seeds: empty for those of the ablation.
    """

    name: str
    paper: str
    claim: str
    change: dict[str, Any] = dataclasses.field(default_factory=dict)
    seeds: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.name):
            raise ConfigError(f"a row's name must be like no-dropout, not {self.name!r}")
        for key in self.change:
            if not key.startswith(tuple(f"{s}." for s in SECTIONS)) or key.count(".") != 1:
                raise ConfigError(
                    f"row {self.name} changes {key!r}; rows change model.* and optimisation.*"
                )
            if key in BUDGET:
                raise ConfigError(
                    f"row {self.name} changes {key}, the budget, which all rows share"
                )


@dataclasses.dataclass(frozen=True)
class LengthConfig:
    """How the test set is split by source length.

    Attributes:
        limits: most words of a sentence in each part but the last, which takes the rest.
        rows: which rows the picture shows by length.
    """

    limits: tuple[int, ...]
    rows: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.limits or list(self.limits) != sorted({*self.limits}) or self.limits[0] < 1:
            raise ConfigError(f"lengths.limits must be rising numbers, not {list(self.limits)}")


@dataclasses.dataclass(frozen=True)
class AblationConfig:
    """All that `dragoman ablate` does.

    Attributes:
        output: folder of all runs, their shared vocabulary and `results.json`.
        report: Markdown document whose marked part is written anew.
        picture: where to draw the results, .svg or .png.
        test: pairs that score a finished run; never read before.
        lengths: parts of the test set.
        base: a training configuration without `output`, `seed` and `threads`.
        rows: the first is the base, the others change something.
        seeds: of the rows that name none of their own.

    Raises:
        ConfigError: a row has an unknown key or does not change exactly what it names.
    """

    output: Path
    report: Path
    picture: Path
    test: PairFiles
    lengths: LengthConfig
    base: dict[str, Any]
    rows: tuple[Row, ...]
    seeds: tuple[int, ...] = (1,)

    def __post_init__(self) -> None:
        names = [row.name for row in self.rows]
        if len({*names}) < len(names):
            raise ConfigError(f"two rows have one name: {', '.join(names)}")
        if not self.rows or self.rows[0].change or not all(row.change for row in self.rows[1:]):
            raise ConfigError("the first row is the base and changes nothing; all others change")
        if self.picture.suffix not in (".svg", ".png"):
            raise ConfigError(f"picture must end in .svg or .png, not {self.picture}")
        if not self.seeds:
            raise ConfigError("seeds must name at least one")
        for key in SET_BY_RUN:
            if key in self.base:
                raise ConfigError(f"base must not have the key {key!r}: each run has its own")
        self.check_names(self.lengths.rows)
        for row in self.rows:
            self._check_change(row)

    @classmethod
    def load(cls, path: Path) -> AblationConfig:
        """Read a YAML file.

        Raises:
            ConfigError: the file cannot be read, or a key or value is wrong.
        """
        return load(cls, path)

    @property
    def vocabulary(self) -> Path:
        """The vocabulary of all runs."""
        return self.output / VOCABULARY

    def check_names(self, names: Sequence[str]) -> None:
        """Raise ConfigError if there is no row of one of these names."""
        known = [row.name for row in self.rows]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ConfigError(f"no row {', '.join(unknown)}; rows: {', '.join(known)}")

    def runs(self) -> list[Run]:
        """Every row under its first seed, in order; then those that have further seeds."""
        placed = [
            (place, self._run(row, seed))
            for row in self.rows
            for place, seed in enumerate(row.seeds or self.seeds)
        ]
        return [run for _, run in sorted(placed, key=lambda pair: pair[0])]

    def find(self, name: str, seed: int) -> Run:
        """The run of that row and seed.

        Raises:
            ConfigError: there is none.
        """
        self.check_names([name])
        return self._run(next(row for row in self.rows if row.name == name), seed)

    def _run(self, row: Row, seed: int) -> Run:
        folder = self.output / row.name / f"seed-{seed}"
        values = copy.deepcopy(self.base)
        for key, value in row.change.items():
            section, name = key.split(".")
            values.setdefault(section, {})[name] = value
        values.update(output=str(folder), seed=seed)
        config = build(TrainingConfig, values, f"row {row.name}")
        return Run(row.name, seed, config, self.test, self.lengths.limits)

    def _check_change(self, row: Row) -> None:
        """The first seed's configuration differs from the base in exactly the row's keys."""
        base, changed = (flat(plain(self._run(r, 1).config)) for r in (self.rows[0], row))
        differing = {k for k in base if base[k] != changed[k]} - {*SET_BY_RUN}
        if differing != {*row.change}:
            raise ConfigError(
                f"row {row.name} must change exactly {', '.join(sorted(row.change))} of the base, "
                f"but changes {', '.join(sorted(differing)) or 'nothing'}"
            )
