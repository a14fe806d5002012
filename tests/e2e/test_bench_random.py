"""`dragoman bench random`, and `dragoman bench soak` on what it wrote, for a few seconds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from serving.bundle import Bundle
from serving.cli import main
from serving.options import DecodingOptions
from serving.search import search

TEXT = ["Good.", "Where is the station?", "She reads a book every evening before she goes to bed."]


def test_a_random_model_is_served_and_answers_as_without_a_server(tmp_path: Path) -> None:
    repository, output, text = tmp_path / "random", tmp_path / "soak", tmp_path / "text"
    text.write_text("".join(f"{line}\n\n" for line in TEXT))
    words = ["bench", "random", str(repository), "--preset", "tiny", "--output-tokens", "9"]
    assert main(words) == 0
    bundle = Bundle.open(repository / "translator" / "1")
    codec = bundle.text_processor()
    found = search(bundle.engine(), [codec.encode(line) for line in TEXT], DecodingOptions())
    assert [len(best.ids) for (best,) in found] == [9, 9, 9]

    words = ["bench", "soak", str(repository), "--text", str(text), "--output", str(output)]
    words += ["--minutes", "0.05", "--settle-minutes", "0.01", "--sample-seconds", "0.3"]
    words += ["--fill-seconds", "1"]
    status = main([*words, "--capacity", "25"])
    soak = json.loads((output / "soak.json").read_text())
    checks = list(soak["checks"].values())
    assert checks[:3] == [True, True, True], soak["checks"]
    assert (status == 0) == soak["passed"] == all(checks), "too short for memory to settle"
    names = {trend["name"] for trend in soak["trends"]}
    models = {"preprocess", "translator", "postprocess", "translate_stream"}
    assert names == {"launcher", "tritonserver", *models}
    assert all(10 < trend["median"] < 2000 for trend in soak["trends"]), "MiB"
    assert soak["load"]["measurements"][-1]["rate"] == 20
    assert (output / "soak.png").read_bytes().startswith(b"\x89PNG")
    assert "# Soak" in (output / "soak.md").read_text()


def test_a_folder_that_is_there_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "random", str(tmp_path)]) == 2
    assert "is there already" in capsys.readouterr().err
