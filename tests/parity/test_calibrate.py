"""`dragoman calibrate` on the shipped model, from text to a bundle that knows its confidence."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from serving import cli
from serving.bundle import CONFIDENCE, Bundle
from serving.options import DecodingOptions
from serving.search import search
from tests.parity.shipped import BUNDLE

SENTENCES = Path(__file__).parents[1] / "gpu/sentences.en.txt"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the shipped model."""
    shutil.copytree(BUNDLE, tmp_path / "bundle")
    return tmp_path / "bundle"


def test_it_learns_from_what_the_search_returns(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = Bundle.open(folder)
    lines = SENTENCES.read_text(encoding="utf-8").splitlines()
    codec, engine = bundle.text_processor(), bundle.engine()
    found = search(engine, list(map(codec.encode, lines)), DecodingOptions())
    good = [codec.decode(hypotheses[0].ids) for hypotheses in found]
    for name, side in (("s", lines * 3), ("t", good + ["nichts davon"] * len(lines) + lines)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    texts = [str(tmp_path / name) for name in ("s", "t")]
    command = ["calibrate", str(folder), "--source", texts[0], "--target", texts[1]]
    assert cli.main([*command, "--test", *texts]) == 0
    output = capsys.readouterr().out
    assert output.count("expected calibration error") == 2
    confidence = Bundle.open(folder).confidence()
    assert confidence is not None
    assert confidence.sentences == 3 * len(lines)
    sure = [confidence.of(hypotheses[0].token_scores) for hypotheses in found]
    assert all(one is not None and 0 < one < 1 for one in sure)


def test_too_little_text_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = tmp_path / "few"
    few.write_text("Good morning.\n\n", encoding="utf-8")
    before = (folder / CONFIDENCE).read_bytes()
    assert cli.main(["calibrate", str(folder), "--source", str(few), "--target", str(few)]) == 2
    assert "at least 100 are needed" in capsys.readouterr().err
    assert (folder / CONFIDENCE).read_bytes() == before
