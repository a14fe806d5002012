"""Small models with random weights, and sentences for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from model.config import ModelConfig
from model.transformer import Transformer
from serving.engine import NEVER, Demand, Edits, Ids, pad

SMALL = {
    "preset": "tiny",
    "vocab_size": 90,
    "d_model": 32,
    "d_ff": 48,
    "encoder_layers": 2,
    "decoder_layers": 2,
}


def small_model(**changes: Any) -> Transformer:
    """Of large weights, so that translations are long and differ much."""
    torch.manual_seed(11)
    model = Transformer(ModelConfig.from_dict({**SMALL, **changes})).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.35)
    return model


def joining(sentences: list[list[int]], beams: int = 1) -> tuple[Ids, list[Demand]]:
    """What a decoder takes for these sentences."""
    source, lengths = pad(sentences, 0)
    return source, [Demand(n, beams, 64) for n in lengths.tolist()]


def random_sentences(random: np.random.Generator, count: int, longest: int) -> list[list[int]]:
    return [
        [*random.integers(3, 90, random.integers(0, longest)).tolist(), 2] for _ in range(count)
    ]


def random_edits(random: np.random.Generator, rows: int, vocab_size: int) -> Edits:
    """Up to a dozen of each row, some tokens blocked and some penalised; often none at all."""
    edits = Edits.none(rows, int(random.integers(0, 13)) * int(random.integers(0, 2)))
    for row in range(rows):
        own = int(random.integers(0, edits.width + 1))
        some = Edits.none(1, own)
        some.ids[0] = random.permutation(vocab_size)[:own]
        some.factor[0] = random.choice([1.0, 1.5], own)
        some.addend[0] = random.choice([0.0, -0.25, NEVER], own)
        edits.put(np.array([row]), some)
    return edits
