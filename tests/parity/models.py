"""Small models with random weights, and sentences for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from model.config import ModelConfig
from model.transformer import Transformer
from serving.engine import Demand, Ids, pad

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
