"""`dragoman export --native`, from a checkpoint to the files of a repository."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import onnx
import pytest
import torch

from export.commands import export
from export.native.repository import write_model
from export.onnx_graphs import Graphs
from model.checkpoint import save_model
from model.config import ModelConfig
from model.transformer import Transformer
from serving.bundle import Bundle, checksum, find_bundle
from serving.cli import main
from tests.parity.compiling import compile_here, remove_gpu_graphs
from tests.parity.shipped import BUNDLE

ROOT = Path(__file__).parents[2]
TEXT = ["Good morning.", "Where is the station?"]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights, the shipped vocabulary, and a sample to prove the graphs on."""
    folder = tmp_path_factory.mktemp("checkpoint")
    torch.manual_seed(1)
    config = ModelConfig(
        vocab_size=6000, d_model=32, d_ff=64, heads=2, encoder_layers=1, decoder_layers=1
    )
    save_model(folder, Transformer(config).state_dict(), config)
    shutil.copyfile(BUNDLE / "vocabulary.model", folder / "vocabulary.model")
    (folder / "sample.txt").write_text("".join(f"{line}\n" for line in TEXT))
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A copy of the shipped repository, as the documents tell to make it."""
    folder = tmp_path / "native"
    shutil.copytree(ROOT / "model_repository", folder)
    return folder


def test_a_checkpoint_becomes_models_of_triton(checkpoint: Path, repository: Path) -> None:
    words = ["--native", "tensorrt", "--gpu", "fp16"]
    assert main(["export", str(checkpoint), str(repository), *words]) == 0
    files, cache = ["model.onnx", "profile.json"], "TYPE_FP16"
    for name in ("encoder", "decoder_step"):
        assert sorted(file.name for file in (repository / name / "1").iterdir()) == files
        onnx.checker.check_model(str(repository / name / "1/model.onnx"), full_check=True)
    config = (repository / "decoder_step/config.pbtxt").read_text()
    assert f'{{ name: "past_key.0" data_type: {cache} dims: [ -1, 2, -1, 16 ] }}' in config
    assert '"log_prob" data_type: TYPE_FP32' in config
    translator = (repository / "translator/config.pbtxt").read_text()
    assert 'parameters { key: "engine" value: { string_value: "native" } }' in translator
    assert Bundle.open(find_bundle(repository)).spec.d_head == 16, "the bundle is of this export"
    assert (repository / "translator/1/gpu/encoder.onnx").exists()
    profile = json.loads((repository / "encoder/1/profile.json").read_text())
    assert profile["S"] == [1, 32, 1000]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--reference", "x"], "--text FILE"),
        (["--shortlist"], "make it with dragoman shortlist"),
        (["--native", "onnxruntime"], "cp -r model_repository"),
    ],
)
def test_what_cannot_be_exported_is_told(
    checkpoint: Path,
    tmp_path: Path,
    words: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["export", str(checkpoint), str(tmp_path / "nowhere"), *words]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "nowhere").exists()


def test_native_plans_are_built_where_they_are_stale(
    repository: Path, small_gpu_graphs: Graphs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Any graph will do; this one has the axes of an encoder."""
    for name in ("encoder", "decoder_step"):
        write_model(repository / name, small_gpu_graphs.encoder, "tensorrt")
    remove_gpu_graphs(repository / "translator/1")
    assert compile_here([str(repository)]) == 0
    capsys.readouterr()
    for name in ("encoder", "decoder_step"):
        plan = repository / name / "1/model.plan"
        record = json.loads((repository / name / "1/model.json").read_text())
        assert record["plan"] == checksum(plan.read_bytes())
    assert compile_here([str(repository)]) == 0
    assert "decoder_step: current\nencoder: current" in capsys.readouterr().err
    (repository / "encoder/1/model.plan").write_bytes(b"of another machine")
    assert compile_here([str(repository)]) == 0
    said = capsys.readouterr().err
    assert "decoder_step: current" in said
    assert "its content is not what was built" in said


def test_help_names_the_backends(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--native onnxruntime" in export.EXAMPLES
    with pytest.raises(SystemExit, match="0"):
        main(["export", "--help"])
    assert "--native BACKEND" in capsys.readouterr().out
