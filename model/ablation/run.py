"""One training run of an ablation: a row under one seed, and the files that it leaves."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from model.strict import plain
from model.training.config import PairFiles, TrainingConfig, flat


@dataclasses.dataclass(frozen=True)
class Run:
    """A row under one seed.

    Attributes:
        name: the row's.
        seed: of weights, order of batches and dropout.
        config: what is trained.
        test: pairs that score the result.
        limits: see `LengthConfig`.
    """

    name: str
    seed: int
    config: TrainingConfig
    test: PairFiles
    limits: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name} (seed {self.seed})"

    @property
    def folder(self) -> Path:
        """Everything that the run writes."""
        return self.config.output

    @property
    def log(self) -> Path:
        """What the run's process printed."""
        return self.folder / "run.log"

    @property
    def translations(self) -> Path:
        """Of the test set, one a line."""
        return self.folder / "test.translations.txt"

    @property
    def result(self) -> Path:
        """Its presence says that the run is done."""
        return self.folder / "result.json"

    @property
    def failure(self) -> Path:
        """Why the run's last process failed."""
        return self.folder / "failure.txt"

    @property
    def fingerprint(self) -> str:
        """Of all that decides the result; another one means that the run is to be done anew."""
        decisive = flat(plain(self.config)) | flat(plain(self.test)) | {"limits": self.limits}
        for key in ("output", "threads"):
            del decisive[key]
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:16]

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until no other process works on this run, and keep others away."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
