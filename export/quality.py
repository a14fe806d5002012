"""What INT8, FP16 or a shortlist costs: translations beside those of FP32, before it is written."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from export.cpu_engine import cpu_engine
from export.material import Material
from export.proof import ProofError
from model.evaluation import Scores, score
from serving.engine import Engine
from serving.options import DecodingOptions
from serving.translator import SentenceTranslator, Translation

MAX_LOSS = 0.3
"""BLEU that INT8 or a shortlist may lose against references."""

MAX_HALF_LOSS = 0.1
"""BLEU that FP16 may lose."""


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

    def check(self, allowed: float) -> None:
        """Raise ProofError where it loses more BLEU."""
        if self.fp32 is None or self.other is None:
            return
        if not self.other.bleu >= self.fp32.bleu - allowed:
            raise ProofError(
                f"{self.name} loses too much (at most {allowed} BLEU is allowed): {self}"
            )


def hold_to_fp32(material: Material, name: str, engine: Engine, allowed: float) -> Quality:
    """Translate the sentences with an engine and with FP32 on CPUs.

    Args:
        name: of the engine.
        allowed: BLEU that it may lose.

    Raises:
        ProofError: it loses more.
    """
    fp32, other = (
        SentenceTranslator(one, material.text).translate(material.lines, DecodingOptions())
        for one in (cpu_engine(material.model, "fp32", ()), engine)
    )
    quality = compare(name, fp32, other, material.references)
    quality.check(allowed)
    return quality


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
