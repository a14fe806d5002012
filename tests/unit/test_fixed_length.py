"""A model of random weights whose translations are all equally long, and its repository."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pytest

from bench.fixed_length import MOST_TOKENS, fixed_length_model
from model.config import ModelConfig
from model.engine import TorchEngine
from serving.errors import ConfigError
from serving.options import DecodingOptions
from serving.search import search

SIZES = {"vocab_size": 120, "d_model": 64, "d_ff": 96, "heads": 4}


def config(layers: int = 2, changes: Mapping[str, object] = MappingProxyType({})) -> ModelConfig:
    given = {"encoder_layers": layers, "decoder_layers": layers, "positions": "learned"}
    return ModelConfig.from_dict({**SIZES, **given, **changes})


def sentences(count: int = 6) -> list[list[int]]:
    random = np.random.default_rng(5)
    return [[*random.integers(3, 120, length).tolist(), 2] for length in range(1, count + 1)]


@pytest.mark.parametrize("layers", [1, 6])
@pytest.mark.parametrize("tokens", [1, 7, MOST_TOKENS])
def test_every_hypothesis_has_the_length_and_ends_by_itself(layers: int, tokens: int) -> None:
    engine = TorchEngine(fixed_length_model(config(layers), tokens))
    for beam_size in (1, 4):
        options = DecodingOptions(beam_size, n_best=beam_size)
        for hypotheses in search(engine, sentences(), options):
            assert [len(found.ids) for found in hypotheses] == [tokens] * beam_size
            assert not any(found.truncated for found in hypotheses)


def test_what_is_said_depends_on_the_sentence_and_the_seed() -> None:
    found = [
        search(TorchEngine(fixed_length_model(config(), 12, seed)), sentences(), DecodingOptions())
        for seed in (0, 1)
    ]
    assert found[0] != found[1]
    assert len({hypotheses[0].score for hypotheses in found[0]}) > 1


@pytest.mark.parametrize(
    ("values", "tokens", "message"),
    [
        ({}, 0, "1 to 51 tokens, not 0"),
        ({}, 52, "1 to 51 tokens, not 52"),
        ({"norm": "pre"}, 5, "LayerNorm must follow"),
        ({"positions": "sinusoidal"}, 5, "positions must be learned"),
    ],
)
def test_what_cannot_be_made_is_told(values: dict[str, object], tokens: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        fixed_length_model(config(changes=values), tokens)
