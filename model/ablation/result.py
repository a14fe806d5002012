"""What a finished run is worth: its cost, its scores, and where they were measured."""

from __future__ import annotations

import dataclasses
import json

from model.ablation.lengths import LengthScore
from model.ablation.run import Run
from model.evaluation import Scores
from model.strict import build
from serving.atomic import write_json
from serving.errors import DragomanError


@dataclasses.dataclass(frozen=True)
class Result:
    """The averaged model of a run.

    Attributes:
        fingerprint: of the run that this is the result of.
        machine: processor and PyTorch.
        threads: that trained.
        parameters: of the model.
        steps: optimiser steps.
        target_tokens: trained on.
        training_seconds: in steps alone.
        perplexity: per token of the validation set.
        scores: of the test set.
        by_length: BLEU of its parts.
    """

    fingerprint: str
    machine: str
    threads: int
    parameters: int
    steps: int
    target_tokens: int
    training_seconds: float
    perplexity: float
    scores: Scores
    by_length: tuple[LengthScore, ...]

    @property
    def tokens_per_second(self) -> float:
        """Target tokens of a second of training."""
        return self.target_tokens / self.training_seconds

    def save(self, run: Run) -> None:
        """Write it, whole or not at all."""
        write_json(run.result, dataclasses.asdict(self))


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A run, and its result or why there is none; neither where it was not run yet."""

    run: Run
    result: Result | None = None
    failure: str | None = None

    @classmethod
    def of(cls, run: Run) -> Outcome:
        """What the run's folder tells.

        Raises:
            DragomanError: a result cannot be read.
        """
        if run.result.exists():
            try:
                values = json.loads(run.result.read_text(encoding="utf-8"))
            except ValueError as error:
                raise DragomanError(f"{run.result} is no result: {error}") from error
            result = build(Result, values, str(run.result))
            if result.fingerprint == run.fingerprint:
                return cls(run, result)
        if run.failure.exists():
            return cls(run, None, run.failure.read_text(encoding="utf-8").strip())
        return cls(run)
