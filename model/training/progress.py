"""What a person sees of a run: a progress bar or log lines, and TensorBoard."""

from __future__ import annotations

import logging
import math
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import tqdm
from tensorboard.summary import Writer

from model.training.learner import StepResult
from model.training.validation import Validation

log = logging.getLogger(__name__)

LOG_SECONDS = 30.0
"""Between log lines where standard error is no terminal."""

_SMOOTHING = 0.95


class Reporter:
    """Reports steps and validations of a run of `steps` steps, from step `done` on.

    Only the process that has a TensorBoard folder is to report.
    """

    def __init__(self, steps: int, done: int, folder: Path | None) -> None:
        self._writer = Writer(str(folder)) if folder else None
        self._bar = tqdm.tqdm(
            total=steps,
            initial=done,
            unit="step",
            disable=folder is None or not sys.stderr.isatty(),
            smoothing=0.05,
        )
        self._steps = steps
        self._loss = self._speed = self._seconds = math.nan
        self._last_line = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.close()
        if self._writer:
            self._writer.close()

    def step(self, number: int, result: StepResult, seconds: float) -> None:
        """Report one step that took so many seconds."""
        self._loss = _smooth(self._loss, result.loss / result.tokens)
        self._speed = _smooth(self._speed, result.tokens / seconds)
        self._seconds = _smooth(self._seconds, seconds)
        self._bar.update()
        self._bar.set_postfix_str(f"loss {self._loss:.3f}, {self._speed:,.0f} tokens/s")
        self._write(
            number,
            {
                "train/loss": result.loss / result.tokens,
                "train/negative_log_likelihood": result.likelihood / result.tokens,
                "train/gradient_norm": result.gradient_norm,
                "train/learning_rate": result.rate,
                "train/tokens_per_second": result.tokens / seconds,
            },
        )
        now = time.monotonic()
        if self._bar.disable and now - self._last_line >= LOG_SECONDS:
            self._last_line = now
            left = (self._steps - number) * self._seconds
            log.info(
                "step %d of %d, loss %.3f, %.0f tokens/s, rate %.2e, about %s left",
                *(number, self._steps, self._loss, self._speed, result.rate),
                tqdm.tqdm.format_interval(left),
            )

    def validation(self, number: int, found: Validation, best: bool) -> None:
        """Report a validation after that step."""
        self._write(
            number,
            {
                "validation/perplexity": found.perplexity,
                "validation/bleu": found.scores.bleu,
                "validation/chrf": found.scores.chrf,
            },
        )
        with tqdm.tqdm.external_write_mode():
            log.info(
                "validation at step %d: %s%s\n  source      %s\n  translation %s\n  reference   %s",
                *(number, found, " (best so far)" if best else ""),
                *found.sample,
            )

    def _write(self, number: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            if self._writer:
                self._writer.add_scalar(name, value, number)


def _smooth(average: float, value: float) -> float:
    return value if math.isnan(average) else _SMOOTHING * average + (1 - _SMOOTHING) * value
