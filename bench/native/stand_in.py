"""Python models in the place of Triton's onnxruntime backend, which its wheel lacks."""

from __future__ import annotations

import shutil
from pathlib import Path

from export.native.config import HEADS
from export.native.repository import CONFIG, VERSION
from serving.triton.native_engine import DECODER_STEP, ENCODER

MODEL = Path(__file__).with_name("stand_in_model.py")


def let_python_stand_in(repository: Path) -> None:
    """Change the backend of `encoder` and `decoder_step`, and nothing else of their config."""
    for name in (ENCODER, DECODER_STEP):
        config = repository / name / CONFIG
        text = config.read_text(encoding="utf-8")
        config.write_text(text.replace(HEADS["onnxruntime"], 'backend: "python"'), encoding="utf-8")
        shutil.copyfile(MODEL, repository / name / VERSION / "model.py")
