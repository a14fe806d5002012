"""Learn a confidence from translations whose quality is known, and hold it to others."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from serving.confidence import Confidence, features

Doubles = NDArray[np.float64]

RIDGE = 1e-3
"""Pull of the weights towards 0, for a translation and a feature of unit variance."""

BINS = 10


def fit(token_scores: Sequence[Sequence[float]], quality: Sequence[float]) -> Confidence:
    """Logistic regression on a share (Papke and Wooldridge 1996), by Newton's method.

    Args:
        token_scores: of each translation, none empty.
        quality: of each, from 0 to 1.
    """
    table = np.array([features(scores) for scores in token_scores])
    share = np.asarray(quality, dtype=np.float64)
    mean, deviation = table.mean(axis=0), np.maximum(table.std(axis=0), 1e-9)
    inputs = np.column_stack((np.ones(len(table)), (table - mean) / deviation))
    pull = RIDGE * len(table) * np.eye(inputs.shape[1])
    pull[0, 0] = 1e-9
    weights = np.zeros(inputs.shape[1])
    for _ in range(50):
        expected = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (share - expected) - pull @ weights
        curvature = (inputs.T * (expected * (1 - expected))) @ inputs + pull
        step = np.linalg.solve(curvature, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-9:
            break
    scaled = weights[1:] / deviation
    return Confidence(float(weights[0] - scaled @ mean), tuple(scaled.tolist()), len(table))


@dataclasses.dataclass(frozen=True)
class Bin:
    """Translations of like confidence: how many, their mean confidence and mean quality."""

    count: int
    confidence: float
    quality: float


@dataclasses.dataclass(frozen=True)
class Reliability:
    """How well confidences foretell quality.

    Attributes:
        bins: as many translations in each, the least sure first.
        error: expected calibration error, the mean of |confidence - quality| over the bins.
        correlation: of confidence and quality (Pearson).
        auc: probability that a translation of the better half has the higher confidence.
    """

    bins: list[Bin]
    error: float
    correlation: float
    auc: float

    @classmethod
    def of(cls, confidence: Sequence[float], quality: Sequence[float]) -> Reliability:
        """Compare them; at least two translations."""
        sure, good = np.asarray(confidence), np.asarray(quality)
        order = np.argsort(sure, kind="stable")
        parts = [part for part in np.array_split(order, BINS) if len(part)]
        bins = [Bin(len(p), float(sure[p].mean()), float(good[p].mean())) for p in parts]
        error = sum(b.count * abs(b.confidence - b.quality) for b in bins) / len(sure)
        spread = sure.std() * good.std()
        covariance = ((sure - sure.mean()) * (good - good.mean())).mean()
        correlation = float(covariance / spread) if spread else 0.0
        return cls(bins, error, correlation, _auc(sure, good > np.median(good)))

    def __str__(self) -> str:
        lines = [
            "| translations | confidence | chrF / 100 |",
            "|---|---|---|",
            *(f"| {b.count} | {b.confidence:.3f} | {b.quality:.3f} |" for b in self.bins),
            "",
            f"expected calibration error {self.error:.3f}, correlation {self.correlation:.3f}, "
            f"better half told from worse with AUC {self.auc:.3f}",
        ]
        return "\n".join(lines)


def _auc(sure: Doubles, better: NDArray[np.bool_]) -> float:
    """Area under the ROC curve; equal confidences count half."""
    _, place, count = np.unique(sure, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    positive = int(better.sum())
    negative = len(better) - positive
    if not positive or not negative:
        return 0.5
    return float((rank[better].sum() - positive * (positive + 1) / 2) / (positive * negative))
