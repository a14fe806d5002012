"""`dragoman bench served` on a tiny model of random weights, for a few seconds."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import pytest
import torch

from export.commands import export
from model.checkpoint import save_model
from model.config import ModelConfig
from model.transformer import Transformer
from tests.e2e.launched import REPOSITORY

pytest.importorskip("ctranslate2", reason="CTranslate2 is what the bench compares with")

TEXT = ["Good morning.", "Where is the station?", "She reads a book before she goes to bed."]
VOCABULARY = REPOSITORY / "translator" / "1" / "vocabulary.model"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A checkpoint of random weights, its bundle, and a text."""
    folder = tmp_path_factory.mktemp("served")
    found = {name: folder / name for name in ("checkpoint", "bundle", "text")}
    found["text"].write_text("".join(f"{line}\n" for line in TEXT))
    torch.manual_seed(1)
    config = ModelConfig(
        vocab_size=6000, d_model=32, d_ff=64, heads=2, encoder_layers=1, decoder_layers=1
    )
    found["checkpoint"].mkdir()
    save_model(found["checkpoint"], Transformer(config).state_dict(), config)
    shutil.copyfile(VOCABULARY, found["checkpoint"] / VOCABULARY.name)
    parser = argparse.ArgumentParser()
    export.add_arguments(parser)
    words = [str(found["checkpoint"]), str(found["bundle"]), "--text", str(found["text"])]
    assert export.run(parser.parse_args(words)) == 0
    return found


def test_both_servers_are_measured(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from bench.commands import served

    plot = tmp_path / "served.png"
    parser = argparse.ArgumentParser()
    served.add_arguments(parser)
    words = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    words += ["--settings", "batch 32", "--settings", "batch 32, 2 workers"]
    words += ["--rounds", "1", "--seconds", "1.5", "--calibration-seconds", "1"]
    words += ["--warm-up-seconds", "0.5"]
    # A search that is over when one rate holds and its double does not.
    words += ["--limit", "700", "--tolerance", "9", "--start-rate", "30", "--json"]
    assert served.run(parser.parse_args([*words, "--plot", str(plot)])) == 0

    found = json.loads(capsys.readouterr().out)
    assert set(found["calibration"]) == {"batch 32", "batch 32, 2 workers"}
    assert found["settings"] in found["calibration"]
    assert 0 <= found["identical_translations"] <= 1
    for name in ("Dragoman", "CTranslate2"):
        assert found["rates"][name][0] > 0
        for points in found["loads"][name].values():
            assert points[0]["errors"] == 0
            assert points[0]["p50"] > 0
    assert found["cost"]["served"] > 0
    assert plot.read_bytes().startswith(b"\x89PNG")
