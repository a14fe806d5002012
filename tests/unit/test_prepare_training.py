"""A run on a prepared folder learns what it learns from the text."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import safetensors.torch
import torch

from model.training.config import PairFiles, PreparedPairs, TrainingConfig
from serving import cli
from serving.errors import ConfigError
from serving.text import VOCABULARY
from tests.unit.made_up_text import write_made_up

STEPS = 6

CONFIG = """\
output: {output}
seed: 5
threads: 1
train: {train}
validation_set: {{source: {text}/a, target: {text}/b}}
model: {{preset: tiny, d_model: 32, d_ff: 48, encoder_layers: 1, decoder_layers: 1, dropout: 0.2}}
optimisation: {{steps: {steps}, batch_tokens: 200, accumulate: 2, warmup: 5, peak_rate: 0.01}}
checkpoints: {{every: 2, average: 2}}
validation: {{every: 100, sentences: 4, beam_size: 2}}
vocabulary: {vocabulary}
"""


def write_text(folder: Path) -> None:
    write_made_up([folder / "a", folder / "b"], lines=90, shortest=2)


def write_config(
    folder: Path, name: str, train: str, vocabulary: str = "{}", steps: int = STEPS
) -> Path:
    path = folder / f"{name}.yaml"
    values = {"output": folder / name, "text": folder, "steps": steps}
    path.write_text(CONFIG.format(train=train, vocabulary=vocabulary, **values))
    return path


def weights(run: Path) -> dict[str, torch.Tensor]:
    return safetensors.torch.load_file(run / f"checkpoints/step-{STEPS:08d}/model.safetensors")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on text, and the same text prepared with that run's vocabulary."""
    folder = tmp_path_factory.mktemp("runs")
    write_text(folder)
    text = f"{{source: {folder}/a, target: {folder}/b}}"
    assert cli.main(["train", str(write_config(folder, "text", text, "{size: 360}"))]) == 0
    prepare(folder, folder / "text" / VOCABULARY)
    return folder


def prepare(folder: Path, vocabulary: Path) -> None:
    files = ["--source", str(folder / "a"), "--target", str(folder / "b")]
    options = ["--vocabulary", str(vocabulary), "--max-ratio", "9", "--shard-pairs", "40"]
    assert cli.main(["prepare", str(folder / "data"), *files, *options]) == 0


def test_prepared_pairs_train_bit_equal_weights(folder: Path) -> None:
    train = f"{{prepared: {folder}/data}}"
    assert cli.main(["train", str(write_config(folder, "begun", train, steps=3))]) == 0
    config = write_config(folder, "begun", train)  # which goes on with that run
    assert cli.main(["train", str(config)]) == 0
    expected, found = weights(folder / "text"), weights(folder / "begun")
    assert expected.keys() == found.keys()
    assert all(torch.equal(tensor, found[name]) for name, tensor in expected.items())
    saved = TrainingConfig.load(folder / "begun/config.yaml")
    assert saved.train == PreparedPairs(folder / "data")
    assert saved.vocabulary.size == saved.model.vocab_size == 360
    published = (folder / "begun/averaged" / VOCABULARY).read_bytes()
    assert published == (folder / "text" / VOCABULARY).read_bytes()


def test_data_prepared_anew_is_another_run(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_text(tmp_path)
    prepare(tmp_path, folder / "text" / VOCABULARY)
    config = write_config(tmp_path, "run", f"{{prepared: {tmp_path}/data}}", steps=2)
    assert cli.main(["train", str(config)]) == 0
    shutil.rmtree(tmp_path / "data")
    (tmp_path / "a").write_text("abcd\n" * 90)
    prepare(tmp_path, folder / "text" / VOCABULARY)
    assert cli.main(["train", str(config)]) == 2
    assert "data has been prepared anew since the run in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("train", "vocabulary", "message"),
    [
        ("{{prepared: {data}}}", "{size: 7}", "was prepared with 360 pieces; leave"),
        ("{{prepared: nowhere}}", "{}", "nowhere holds no prepared pairs"),
        ("{{prepared: {data}}}", "{dropout: 0.1}", "vocabulary.dropout tokenises the text anew"),
        ("{{prepared: {data}}}", "{type: unigram}", "vocabulary.type is decided by"),
        ("{{prepared: a, source: b}}", "{}", "keys {source, target} or {prepared}, not {prepared"),
        ("{{source: a}}", "{}", "train must have the keys {source, target} or {prepared}, not"),
        ("a", "{}", "train must have the keys .*, not 'a'"),
    ],
)
def test_wrong_configurations_are_told(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    train: str,
    vocabulary: str,
    message: str,
) -> None:
    given = train.format(data=folder / "data")
    assert cli.main(["train", str(write_config(folder, "wrong", given, vocabulary))]) == 2
    assert pytest.raises(ConfigError, match=message).matches(ConfigError(capsys.readouterr().err))


def test_text_alone_will_do_for_some(folder: Path) -> None:
    config = TrainingConfig.load(folder / "text.yaml")
    assert config.text_pairs() == PairFiles(folder / "a", folder / "b")
    with pytest.raises(ConfigError, match="needs train.source and train.target"):
        TrainingConfig.load(write_config(folder, "no", "{prepared: x}")).text_pairs()
