"""A widened model is larger and translates as the small one does."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from bench.widen import widen
from model.checkpoint import load_transformer, save_model
from model.config import ModelConfig
from model.transformer import Transformer
from serving.cli import main
from serving.errors import ConfigError
from tests.parity.models import small_model


def logits(model: Transformer) -> torch.Tensor:
    torch.manual_seed(3)
    source, target = torch.randint(3, 90, (4, 9)), torch.randint(3, 90, (4, 7))
    with torch.no_grad():
        return model.embedding.project(model(source, torch.tensor([9, 1, 5, 7]), target))


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
@pytest.mark.parametrize("layers", [(2, 2), (2, 5), (4, 3)])
def test_the_logits_stay_the_same(positions: str, layers: tuple[int, int]) -> None:
    small = small_model(positions=positions)
    wide = widen(small, *layers)
    config = wide.config
    assert (config.d_model, config.d_ff, config.heads) == (64, 96, 2 * small.config.heads)
    assert (config.encoder_layers, config.decoder_layers) == layers
    torch.testing.assert_close(logits(wide), logits(small), rtol=2e-4, atol=2e-4)
    torch.testing.assert_close(logits(widen(wide)), logits(small), rtol=4e-4, atol=4e-4)


@pytest.mark.parametrize(
    ("values", "layers", "message"),
    [({"norm": "pre"}, (6, 6), "after each"), ({}, (1, 6), "already"), ({}, (6, 1), "already")],
)
def test_what_cannot_be_widened_is_refused(
    values: dict[str, str], layers: tuple[int, int], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        widen(small_model(**values), *layers)


def test_the_command_writes_a_checkpoint(tmp_path: Path) -> None:
    small = small_model()
    (tmp_path / "small").mkdir()
    save_model(tmp_path / "small", dict(small.state_dict()), small.config)
    (tmp_path / "small" / "sample.txt").write_text("a sentence\n", encoding="utf-8")
    arguments = ["bench", "widen", str(tmp_path / "small"), str(tmp_path / "wide"), "--times", "2"]
    assert main([*arguments, "--layers", "3"]) == 0
    wide = load_transformer(tmp_path / "wide")
    assert isinstance(wide.config, ModelConfig)
    assert wide.config.d_model == 4 * small.config.d_model
    torch.testing.assert_close(logits(wide), logits(small), rtol=4e-4, atol=4e-4)
    assert (tmp_path / "wide" / "sample.txt").read_text(encoding="utf-8") == "a sentence\n"
