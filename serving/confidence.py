"""How far a translation can be trusted, from the probabilities of its pieces."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from serving.errors import ConfigError, check_known_keys
from serving.words import Span, word_of_each, words

FEATURES = ("mean_probability", "least_probability", "log_length")
"""What a confidence is made of: the mean and the least of the pieces' probabilities, EOS's with
them, and the logarithm of their number."""


@dataclasses.dataclass(frozen=True)
class WordScore:
    """How probable a word of a translation was.

    Attributes:
        start: of the word in the translation, in characters.
        end: the character after it.
        probability: geometric mean of its pieces' probabilities, from 0 to 1.
    """

    start: int
    end: int
    probability: float


def word_scores(text: str, spans: Sequence[Span], token_scores: Sequence[float]) -> list[WordScore]:
    """The words of a translation with their probabilities.

    Args:
        text: the translation.
        spans: of its pieces; see `TextProcessor.decode_spans`.
        token_scores: their log-probabilities; one more where EOS follows, which is no word's.

    Returns:
        Words in their order; one that no piece begins in, as where a piece holds two, is left out.
    """
    found = words(text)
    word = word_of_each(spans, found)
    scores = np.asarray(token_scores[: len(spans)], dtype=np.float64)
    inside = np.flatnonzero(word >= 0)
    total = np.bincount(word[inside], scores[inside], minlength=len(found))
    count = np.bincount(word[inside], minlength=len(found))
    return [
        WordScore(*span, min(1.0, math.exp(total[i] / count[i])))
        for i, span in enumerate(found)
        if count[i]
    ]


def features(token_scores: Sequence[float]) -> NDArray[np.float64]:
    """`FEATURES` of a translation with at least one token."""
    probability = np.exp(np.asarray(token_scores, dtype=np.float64))
    return np.array([probability.mean(), probability.min(), math.log(len(probability))])


@dataclasses.dataclass(frozen=True)
class Confidence:
    """A logistic map from features to the quality that such translations have on average.

    A confidence of 0.6 means that translations with this confidence score, on average, chrF 60
    against a human's translation of the same sentence.

    Attributes:
        bias: of the map.
        weights: one for each of `FEATURES`.
        sentences: translations that it was learned from.
    """

    bias: float
    weights: tuple[float, ...]
    sentences: int

    def of(self, token_scores: Sequence[float]) -> float | None:
        """The confidence in a translation, from 0 to 1; None in an empty one.

        Args:
            token_scores: log-probabilities of its tokens, EOS's last if that ended it.
        """
        if not token_scores:
            return None
        logit = self.bias + float(features(token_scores) @ np.array(self.weights))
        return 1 / (1 + math.exp(-logit)) if logit >= 0 else 1 - 1 / (1 + math.exp(logit))

    def to_json(self) -> str:
        """The content of a bundle's `confidence.json`."""
        values = {
            "meaning": "expected chrF against a human translation, divided by 100",
            "bias": self.bias,
            "weights": dict(zip(FEATURES, self.weights, strict=True)),
            "sentences": self.sentences,
        }
        return json.dumps(values, indent=2) + "\n"

    @classmethod
    def load(cls, path: Path) -> Confidence:
        """Read what `to_json` wrote.

        Raises:
            ConfigError: the file is missing, damaged, or of another version.
        """
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            check_known_keys(values, ("meaning", "bias", "weights", "sentences"), str(path))
            check_known_keys(values["weights"], FEATURES, f"weights of {path}")
            weights = tuple(float(values["weights"][name]) for name in FEATURES)
            found = cls(float(values["bias"]), weights, int(values["sentences"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigError(
                f"no confidence can be read from {path}: {error!r}; make it with dragoman calibrate"
            ) from error
        if not all(map(math.isfinite, (found.bias, *found.weights))):
            raise ConfigError(f"{path} holds a number that is not finite: calibrate again")
        return found
