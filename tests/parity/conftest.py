"""Real sentences, and small models with random weights for every shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from export.gpu.graphs import gpu_graphs
from export.onnx_graphs import Graphs
from serving.lines import read_lines
from tests.parity.models import small_model

ROOT = Path(__file__).parents[2]
TATOEBA = ROOT.parent / "shared" / "data" / "tatoeba"


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """500 English sentences of the test set."""
    path = TATOEBA / "test.en.gz"
    if not path.exists():
        pytest.skip(f"{path} is not here: the corpora lie beside the project, not in it")
    return read_lines(path)[:500]


@pytest.fixture(scope="session")
def small_gpu_graphs() -> Graphs:
    """Of one layer, FP16."""
    return gpu_graphs(small_model(encoder_layers=1, decoder_layers=1), "fp16")
