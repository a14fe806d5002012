"""Real sentences, and small models with random weights for every shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from serving.lines import read_lines

ROOT = Path(__file__).parents[2]
TATOEBA = ROOT.parent / "shared" / "data" / "tatoeba"


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """500 English sentences of the test set."""
    path = TATOEBA / "test.en.gz"
    if not path.exists():
        pytest.skip(f"{path} is not here: the corpora lie beside the project, not in it")
    return read_lines(path)[:500]
