"""Hold every candidate's links to statistics and to what needs none."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bench.alignment.evidence import planted
from bench.alignment.rules import RULES, SERVED, best_source
from export.aligner.heads import Heads, candidates
from model.cross_attention import cross_attentions
from model.diagonal import Links, Silver
from model.transformer import Transformer
from model.word_pairs import Agreement, WordPair, links_of


@dataclasses.dataclass(frozen=True)
class Row:
    """One way to align.

    Attributes:
        name: of heads or of a rule.
        agreement: of its links with silver ones.
        planted: share of names and numbers that look at themselves most, or are linked.
    """

    name: str
    agreement: Agreement
    planted: float


@dataclasses.dataclass(frozen=True)
class Measurement:
    """What was measured.

    Attributes:
        sentences: pairs.
        planted: names and numbers in them.
        evidence: how many of those the statistical aligner links, as a share: how good it is.
        heads: every candidate by the rule that is served, the best first.
        rules: every rule on the best candidate.
    """

    sentences: int
    planted: int
    evidence: float
    heads: list[Row]
    rules: list[Row]


def measure(
    transformer: Transformer,
    pairs: Sequence[WordPair],
    silver: Sequence[Silver],
    on_pair: Callable[[], object],
) -> Measurement:
    """Measure all candidates and rules; `on_pair` is called after each pair."""
    among = list(candidates(transformer.config))
    evidence = [planted(pair) for pair in pairs]
    maps: list[list[NDArray[np.float64]]] = [[] for _ in among]
    for between in _all_maps(transformer, pairs, among):
        for found, one in zip(maps, between, strict=True):
            found.append(one)
        on_pair()
    rows = [
        Row(
            str(heads),
            Agreement.of(list(map(links_of, found)), silver),
            _share(list(map(best_source, found)), evidence),
        )
        for heads, found in zip(among, maps, strict=True)
    ]
    best = min(range(len(rows)), key=lambda i: rows[i].agreement.error_rate)
    return Measurement(
        len(pairs),
        sum(map(len, evidence)),
        _share([one.sure for one in silver], evidence),
        sorted(rows, key=lambda row: row.agreement.error_rate),
        [_row(name, maps[best], silver, evidence) for name in RULES],
    )


def _all_maps(
    transformer: Transformer, pairs: Sequence[WordPair], among: Sequence[Heads]
) -> Iterator[list[NDArray[np.float64]]]:
    """Each pair's attention between words, for every candidate."""
    sides = ([pair.source for pair in pairs], [pair.target for pair in pairs])
    for pair, weights in zip(pairs, cross_attentions(transformer, *sides), strict=True):
        yield [pair.between(heads.of(weights)) for heads in among]


def _row(
    name: str,
    maps: Sequence[NDArray[np.float64]],
    silver: Sequence[Silver],
    evidence: Sequence[Links],
) -> Row:
    links = list(map(RULES[name], maps))
    served = name + (" (served)" if name == SERVED else "")
    return Row(served, Agreement.of(links, silver), _share(links, evidence))


def _share(links: Sequence[Links], evidence: Sequence[Links]) -> float:
    """Of the evidence that is among the links."""
    found = sum(len(one & other) for one, other in zip(links, evidence, strict=True))
    return found / max(sum(map(len, evidence)), 1)
