"""The table: each variant's scores beside those of the clean text, and what it kept."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

from bench.robustness.variants import Variant
from model.evaluation import Scores, score


@dataclasses.dataclass(frozen=True)
class Row:
    """One variant.

    Attributes:
        name: the variant's.
        sentences: how many it has.
        scores: of what is scored.
        clean: of the same sentences as they are.
        kept: by the name of a check, the share of the translations that pass, 0 to 1.
        failures: numbers of some sentences that fail a check, with their translations.
    """

    name: str
    sentences: int
    scores: Scores
    clean: Scores
    kept: dict[str, float]
    failures: dict[str, list[tuple[int, str]]]


SHOWN = 5
"""Failures of a check that are kept."""


class Clean:
    """The clean text's translations, to compare with."""

    def __init__(self, variant: Variant, translations: Sequence[str]) -> None:
        self._translations, self._references = translations, variant.references
        self._all = score(translations, variant.references)

    def __call__(self, variant: Variant) -> Scores:
        """Scores of the sentences that a variant is made of."""
        if variant.lines is None:
            return self._all
        found = [(self._translations[n], self._references[n]) for n in variant.lines]
        return score([one for one, _ in found], [one for _, one in found])


def row_of(variant: Variant, translations: Sequence[str], clean: Clean) -> Row:
    """Score and check the translations of a variant."""
    kept: dict[str, float] = {}
    failures: dict[str, list[tuple[int, str]]] = {}
    for name, passes in variant.checks.items():
        failed = [(n, text) for n, text in enumerate(translations) if not passes(n, text)]
        kept[name] = 1 - len(failed) / max(1, len(translations))
        if failed:
            failures[name] = failed[:SHOWN]
    scores = score(variant.rest(translations), variant.references)
    return Row(variant.name, len(translations), scores, clean(variant), kept, failures)


def to_markdown(rows: Sequence[Row]) -> str:
    """A table of all variants."""
    lines = [
        "| text | sentences | BLEU (clean) | chrF | chrF of clean | kept |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        kept = ", ".join(f"{name} {100 * share:.2f} %" for name, share in row.kept.items())
        scores, clean = row.scores, row.clean
        share = 100 * scores.chrf / clean.chrf
        lines.append(
            f"| {row.name} | {row.sentences:,} | {scores.bleu:.1f} ({clean.bleu:.1f}) | "
            f"{scores.chrf:.1f} | {share:.0f} % | {kept} |"
        )
    lines += ["", rows[0].scores.bleu_signature, "", rows[0].scores.chrf_signature]
    return "\n".join(lines)


def to_json(rows: Sequence[Row]) -> str:
    """All that was measured."""
    return json.dumps([dataclasses.asdict(row) for row in rows], indent=2, ensure_ascii=False)
