"""Corpus scores: sacreBLEU (Post 2018) and chrF (Popović 2015), with their signatures."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF


@dataclasses.dataclass(frozen=True)
class Scores:
    """Scores of a translated test set, 0 to 100, and how they were computed."""

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str

    def __str__(self) -> str:
        return (
            f"BLEU {self.bleu:.2f}  ({self.bleu_signature})\n"
            f"chrF {self.chrf:.2f}  ({self.chrf_signature})"
        )


def score(translations: Sequence[str], references: Sequence[str]) -> Scores:
    """Score translations against one reference each."""
    bleu, chrf = BLEU(), CHRF()
    bleu_score = bleu.corpus_score(translations, [references]).score
    chrf_score = chrf.corpus_score(translations, [references]).score
    return Scores(bleu_score, chrf_score, str(bleu.get_signature()), str(chrf.get_signature()))
