"""Learning rate: linear warm-up, then the inverse square root of the step (section 5.3)."""

from __future__ import annotations

import math


def paper_peak(d_model: int, warmup: int) -> float:
    """The rate at the end of warm-up in the paper's equation 3: (d_model * warmup)^-0.5."""
    return float((d_model * warmup) ** -0.5)


def learning_rate(step: int, warmup: int, peak: float) -> float:
    """The rate of a step, counted from 1.

    With `paper_peak` this is d_model^-0.5 * min(step^-0.5, step * warmup^-1.5).
    """
    return peak * min(step / warmup, math.sqrt(warmup / step))
