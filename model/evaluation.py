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


TOKENIZERS = ("13a", "none", "intl", "char", "zh")
"""sacreBLEU's, without those that need further packages; 13a is the standard of WMT."""


def score(
    translations: Sequence[str],
    references: Sequence[str],
    tokenize: str = "13a",
    remove_bpe: bool = False,
) -> Scores:
    """Score translations against one reference each.

    Args:
        translations: one a sentence.
        references: one a sentence.
        tokenize: how sacreBLEU splits words; `none` for text that is already split.
        remove_bpe: join what subword-nmt split (`pul@@ ley`), on both sides, before scoring.
    """
    if remove_bpe:
        translations, references = _joined(translations), _joined(references)
    # force: text that is split already is what `none` is for, no mistake to warn of.
    bleu, chrf = BLEU(tokenize=tokenize, force=tokenize == "none"), CHRF()
    bleu_score = bleu.corpus_score(translations, [references]).score
    chrf_score = chrf.corpus_score(translations, [references]).score
    return Scores(bleu_score, chrf_score, str(bleu.get_signature()), str(chrf.get_signature()))


def sentence_chrf(translation: str, reference: str) -> float:
    """chrF of one sentence, 0 to 100."""
    found: float = CHRF().sentence_score(translation, [reference]).score
    return found


def _joined(lines: Sequence[str]) -> list[str]:
    return [f"{line} ".replace("@@ ", "").rstrip(" ") for line in lines]
