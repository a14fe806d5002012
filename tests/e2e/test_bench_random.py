"""`dragoman bench random`, served: translations of a fixed length."""

from __future__ import annotations

from pathlib import Path

import pytest

from serving.bundle import Bundle
from serving.cli import main
from serving.options import DecodingOptions
from serving.translator import LocalTranslator
from tests.e2e.launched import LaunchedServer

TEXT = ["Good.", "Where is the station?", "She reads a book every evening before she goes to bed."]


def test_it_is_served_and_translates_as_without_a_server(tmp_path: Path) -> None:
    repository = tmp_path / "random"
    words = ["bench", "random", str(repository), "--preset", "tiny", "--output-tokens", "9"]
    assert main(words) == 0
    with LaunchedServer(repository, tmp_path / "server.log") as server:
        found = server.generate(text=TEXT)[1]["translation"]
    bundle = Bundle.open(repository / "translator" / "1")
    translator = LocalTranslator(bundle.engine(), bundle.text_processor())
    assert found == [best.text for (best,) in translator.translate(TEXT, DecodingOptions())]


def test_a_folder_that_is_there_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "random", str(tmp_path)]) == 2
    assert "is there already" in capsys.readouterr().err
