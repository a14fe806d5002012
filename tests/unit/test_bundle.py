"""An exported model's folder: what is missing or changed is noticed by who needs it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from serving.bundle import SPEC, Bundle
from serving.errors import ConfigError
from serving.text import VOCABULARY

SHIPPED = Path(__file__).resolve().parents[2] / "model_repository/translator/1"


@pytest.fixture
def texts_only(tmp_path: Path) -> Path:
    for name in (SPEC, VOCABULARY):
        shutil.copy(SHIPPED / name, tmp_path / name)
    return tmp_path


def test_who_needs_the_vocabulary_alone_needs_no_graphs(texts_only: Path) -> None:
    bundle = Bundle.open(texts_only, only=(VOCABULARY,))
    assert bundle.text_processor().encode("Good morning.")[-1] == bundle.spec.eos_id
    with pytest.raises(ConfigError, match=r"encoder.onnx is missing"):
        Bundle.open(texts_only)


def test_a_vocabulary_of_another_export_is_refused(texts_only: Path) -> None:
    with (texts_only / VOCABULARY).open("ab") as stream:
        stream.write(b"\0")
    with pytest.raises(ConfigError, match="is not the file that was exported"):
        Bundle.open(texts_only, only=(VOCABULARY,))
