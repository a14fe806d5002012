"""What INT8 or a shortlist costs: translations beside those of FP32, before files are written."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from export.proof import ProofError
from model.evaluation import Scores, score
from serving.translator import Translation

MAX_LOSS = 0.3
"""BLEU that INT8 or a shortlist may lose against references."""


@dataclasses.dataclass(frozen=True)
class Quality:
    """Two engines' translations of the same sentences.

    Attributes:
        name: of what is compared with FP32 on the whole vocabulary.
        sentences: how many.
        identical: how many translations are the same.
        fp32: scores of FP32 against the references; None without references.
        other: those of the other.
    """

    name: str
    sentences: int
    identical: int
    fp32: Scores | None
    other: Scores | None

    def __str__(self) -> str:
        same = f"{self.identical} of {self.sentences} translations are those of FP32"
        if self.fp32 is None or self.other is None:
            return f"{same}; name references with --reference FILE to have BLEU checked"
        return f"{same}; BLEU {self.fp32.bleu:.2f} in FP32, {self.other.bleu:.2f} in {self.name}"

    def check(self) -> None:
        """Raise ProofError where it loses more than `MAX_LOSS` BLEU."""
        if self.fp32 is None or self.other is None:
            return
        if not self.other.bleu >= self.fp32.bleu - MAX_LOSS:
            raise ProofError(
                f"{self.name} loses too much (at most {MAX_LOSS} BLEU is allowed): {self}"
            )


def compare(
    name: str,
    fp32: Sequence[Sequence[Translation]],
    other: Sequence[Sequence[Translation]],
    references: Sequence[str] | None,
) -> Quality:
    """Compare the best translation of each sentence."""
    texts = [[hypotheses[0].text for hypotheses in found] for found in (fp32, other)]
    identical = sum(one == other for one, other in zip(*texts, strict=True))
    scores = [score(found, references) for found in texts] if references else (None, None)
    return Quality(name, len(fp32), identical, *scores)
