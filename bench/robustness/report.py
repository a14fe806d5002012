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
        scores: of what is scored.
        kept: by the name of a check, the share of the translations that pass, 0 to 1.
        failures: numbers of some sentences that fail a check, with their translations.
    """

    name: str
    scores: Scores
    kept: dict[str, float]
    failures: dict[str, list[tuple[int, str]]]


SHOWN = 5
"""Failures of a check that are kept."""


def row_of(variant: Variant, translations: Sequence[str]) -> Row:
    """Score and check the translations of a variant."""
    kept: dict[str, float] = {}
    failures: dict[str, list[tuple[int, str]]] = {}
    for name, passes in variant.checks.items():
        failed = [(n, text) for n, text in enumerate(translations) if not passes(n, text)]
        kept[name] = 1 - len(failed) / max(1, len(translations))
        if failed:
            failures[name] = failed[:SHOWN]
    scores = score(variant.rest(translations), variant.references)
    return Row(variant.name, scores, kept, failures)


def to_markdown(rows: Sequence[Row]) -> str:
    """A table of all variants, the first of which is the clean text."""
    clean = rows[0].scores
    lines = [
        "| text | BLEU | chrF | chrF of clean | kept |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        kept = ", ".join(f"{name} {100 * share:.2f} %" for name, share in row.kept.items())
        share = 100 * row.scores.chrf / clean.chrf
        scores = row.scores
        lines.append(
            f"| {row.name} | {scores.bleu:.1f} | {scores.chrf:.1f} | {share:.0f} % | {kept} |"
        )
    lines += ["", clean.bleu_signature, "", clean.chrf_signature]
    return "\n".join(lines)


def to_json(rows: Sequence[Row]) -> str:
    """All that was measured."""
    return json.dumps([dataclasses.asdict(row) for row in rows], indent=2, ensure_ascii=False)
