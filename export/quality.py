"""What INT8 costs: its translations beside those of FP32, before its files are written."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from export.proof import ProofError
from model.evaluation import Scores, score
from serving.translator import Translation

MAX_LOSS = 0.3
"""BLEU that INT8 may lose against references."""


@dataclasses.dataclass(frozen=True)
class Quality:
    """Two engines' translations of the same sentences.

    Attributes:
        sentences: how many.
        identical: how many translations are the same.
        fp32: scores of FP32 against the references; None without references.
        int8: those of INT8.
    """

    sentences: int
    identical: int
    fp32: Scores | None
    int8: Scores | None

    def __str__(self) -> str:
        same = f"{self.identical} of {self.sentences} translations are those of FP32"
        if self.fp32 is None or self.int8 is None:
            return f"{same}; name references with --reference FILE to have BLEU checked"
        return f"{same}; BLEU {self.fp32.bleu:.2f} in FP32, {self.int8.bleu:.2f} in INT8"

    def check(self) -> None:
        """Raise ProofError where INT8 loses more than `MAX_LOSS` BLEU."""
        if self.fp32 is None or self.int8 is None:
            return
        if not self.int8.bleu >= self.fp32.bleu - MAX_LOSS:
            raise ProofError(f"INT8 loses too much (at most {MAX_LOSS} BLEU is allowed): {self}")


def compare(
    fp32: Sequence[Sequence[Translation]],
    int8: Sequence[Sequence[Translation]],
    references: Sequence[str] | None,
) -> Quality:
    """Compare the best translation of each sentence."""
    texts = [[hypotheses[0].text for hypotheses in found] for found in (fp32, int8)]
    identical = sum(one == other for one, other in zip(*texts, strict=True))
    scores = [score(found, references) for found in texts] if references else (None, None)
    return Quality(len(fp32), identical, *scores)
