"""Whether CTranslate2 with our weights translates as we do, sentence by sentence."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from bench.engines.contender import NO_LENGTH_PENALTY, Ids
from bench.engines.ctranslate2_engine import CTranslate2Engine
from model.engine import TorchEngine
from model.transformer import Transformer
from serving.options import DecodingOptions
from serving.search import search


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Translations by CTranslate2 in FP32 against ours by PyTorch, both without length penalty.

    Attributes:
        sentences: compared.
        same: token for token alike.
        ours_better: of the others, those where our log-probability is higher: CTranslate2 drops
            hypotheses whose EOS ranks below the K best continuations, our search keeps them.
        largest_difference: of log-probabilities, among those alike.
    """

    sentences: int
    same: int
    ours_better: int
    largest_difference: float


def agreement(
    transformer: Transformer,
    sources: Sequence[Ids],
    beam_size: int,
    threads: int,
    length: int | None = None,
) -> Agreement:
    """Translate with both and compare; `length` as for `Contender.translate`."""
    options = DecodingOptions(beam_size, NO_LENGTH_PENALTY, max_length=length)
    found = search(TorchEngine(transformer), sources, options)
    ours = [(list(best.ids), best.score) for best, *_ in found]
    engine = CTranslate2Engine(transformer, "fp32", threads, max_batch_size=32)
    theirs = engine.translate_with_scores(sources, beam_size, length)
    pairs = list(zip(ours, theirs, strict=True))
    alike = [(a[1], b[1]) for a, b in pairs if a[0] == b[0]]
    better = sum(a[0] != b[0] and a[1] > b[1] for a, b in pairs)
    largest = max((abs(a - b) for a, b in alike), default=0.0)
    return Agreement(len(pairs), len(alike), better, largest)
