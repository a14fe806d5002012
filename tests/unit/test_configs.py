"""Every configuration that ships can be loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.ablation.config import AblationConfig
from model.training.config import PreparedPairs, TrainingConfig

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", sorted(ROOT.glob("configs/*.yaml")), ids=lambda path: path.stem)
def test_shipped_configurations_load(path: Path) -> None:
    if path.stem.startswith("ablations"):
        assert AblationConfig.load(path).runs()
        return
    config = TrainingConfig.load(path)
    assert config.output.parts[0] == "runs"
    assert config.model.vocab_size == config.vocabulary.size


@pytest.mark.parametrize("name", ["wmt14-en-de-base", "wmt14-en-de-big", "wmt14-en-fr-big"])
def test_the_papers_recipes(name: str) -> None:
    """Sections 5.1 to 5.4 and 6.1, and tables 2 and 3."""
    path = ROOT / f"configs/{name}.yaml"
    config, big = TrainingConfig.load(path), name.endswith("big")
    assert isinstance(config.train, PreparedPairs)
    options = config.optimisation
    assert options.batch_tokens * options.accumulate == pytest.approx(25_000, rel=0.05)
    assert options.accumulate % 8 == 0, "a batch for each of 8 GPUs"
    assert options.steps == (300_000 if big else 100_000)
    assert (options.warmup, options.label_smoothing, options.peak_rate) == (4000, 0.1, None)
    assert config.vocabulary.size == (32_000 if "fr" in name else 37_000)
    assert config.model.d_model == (1024 if big else 512)
    assert config.model.dropout == (0.3 if name == "wmt14-en-de-big" else 0.1)
    assert config.checkpoints.average == (20 if big else 5)
    text = path.read_text(encoding="utf-8")
    assert f"train configs/{path.name}" in text
    assert f"--vocabulary-size {config.vocabulary.size}" in text
