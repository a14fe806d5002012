"""The comparison of engines: fair turns, a model that never ends, and the command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.checkpoint import save_model
from model.config import ModelConfig
from model.data.vocabulary import VocabularyConfig, learn_pieces
from serving.errors import DragomanError
from serving.shortlist import SHORTLIST, Shortlist
from serving.text import VOCABULARY
from tests.unit.made_up_text import write_made_up

pytest.importorskip("ctranslate2", reason="dragoman[bench] is not installed")
pytest.importorskip("transformers", reason="dragoman[bench] is not installed")

from bench.commands import engines as command
from bench.engines.contender import Ids, Precision, endless_model, ours_pytorch
from bench.engines.grid import GridPlan, grid_task, random_sources
from bench.engines.rounds import Entry, Timing, take_turns, turns
from serving import cli


class Recorder:
    """Writes down its turns in a diary that all share, and translates to what it was told."""

    precision: Precision = "fp32"

    def __init__(self, name: str, diary: list[str], answer: list[int]) -> None:
        self.name, self._diary, self._answer = name, diary, answer

    def translate(
        self, sources: Sequence[Ids], beam_size: int, length: int | None = None
    ) -> list[list[int]]:
        self._diary.append(self.name)
        return [self._answer for _ in sources]


def test_turns_alternate_and_slow_ones_take_fewer() -> None:
    diary: list[str] = []
    done: list[None] = []
    entries = [
        Entry(Recorder(name, diary, answer), rounds)
        for name, answer, rounds in (("a", [5], 3), ("b", [6], 3), ("slow", [5], 1))
    ]
    timing = take_turns(
        entries, lambda one: one.translate([[7, 2]], 1), 0.0, lambda: done.append(None)
    )
    assert diary == ["a", "b", "slow", "b", "slow", "a", "a", "b", "a", "b"]
    assert len(done) == len(diary) == turns(entries)
    assert [len(times) for times in timing.seconds.values()] == [3, 3, 1]
    assert timing.same("slow fp32", "a fp32") == 1
    assert timing.same("b fp32", "a fp32") == 0


def test_ratios_pair_the_rounds_that_both_took_part_in() -> None:
    timing = Timing({"a": [1.0, 2.0, 4.0], "b": [3.0, 2.0, 2.0], "slow": [8.0]}, {})
    assert timing.ratios("b", "a") == [3.0, 1.0, 0.5]
    assert timing.ratio("b", "a") == 1.0
    assert timing.ratio("slow", "a") == 8.0


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_model_of_random_weights_never_ends_a_translation(norm: str) -> None:
    plan = small_plan(ModelConfig.from_dict({"preset": "tiny", "vocab_size": 200, "norm": norm}))
    sources = random_sources(plan, 6, np.random.default_rng(0))
    assert {len(ids) for ids in sources} == {5}
    contender = ours_pytorch(endless_model(plan.config))
    for beam in (1, 5):
        assert {len(ids) for ids in contender.translate(sources, beam, 40)} == {40}


def small_plan(config: ModelConfig) -> GridPlan:
    return GridPlan(config, (1,), (1,), 5, 6, 1, 0, 1, 0.0)


def test_outputs_of_another_length_are_not_compared() -> None:
    task = grid_task([[7, 2]], 1, output_tokens=3)
    assert task(Recorder("right", [], [5, 5, 5])) == [[5, 5, 5]]
    with pytest.raises(DragomanError, match=r"wrong fp32 wrote \[2\] tokens where all must"):
        task(Recorder("wrong", [], [5, 5]))


def outputs(folder: Path) -> list[str]:
    kinds = {"json": "json", "markdown": "md", "plot": "png"}
    return [w for kind, end in kinds.items() for w in (f"--{kind}", str(folder / f"e.{end}"))]


def test_a_quick_grid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "engines", "--quick", "--threads", "1", *outputs(tmp_path / "new")]
    assert cli.main(words) == 0
    report = json.loads((tmp_path / "new" / "e.json").read_text())
    cells = [(cell["batch"], cell["beam"]) for cell in report["grid"]]
    assert cells == [(1, 1), (1, 4), (2, 1), (2, 4)]
    for cell in report["grid"]:
        rounds = {label: len(times) for label, times in cell["timing"]["seconds"].items()}
        assert rounds == {
            "Dragoman fp32": 2,
            "CTranslate2 fp32": 2,
            "Dragoman int8": 2,
            "CTranslate2 int8": 2,
            "Hugging Face fp32": 1,
            "Dragoman on PyTorch fp32": 1,
        }
        same = cell["timing"]["translated_as_our_fp32"]
        exact = ("CTranslate2 fp32", "Hugging Face fp32", "Dragoman on PyTorch fp32")
        assert [same[label] for label in exact] == [cell["batch"]] * 3
    tables = (tmp_path / "new" / "e.md").read_text()
    assert tables.count("**geometric mean**") == 2
    assert capsys.readouterr().out == tables
    assert (tmp_path / "new" / "e.png").stat().st_size > 1000


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A model of random weights whose translations end only at the limit, and 25 sentences."""
    write_made_up([tmp_path / "text"], 25)
    folder = tmp_path / "model"
    folder.mkdir()
    lines = (tmp_path / "text").read_text().splitlines()
    learn_pieces(lines, VocabularyConfig(size=290), folder / VOCABULARY)
    config = ModelConfig.from_dict({**command.QUICK.to_dict(), "vocab_size": 290})
    save_model(folder, endless_model(config).state_dict(), config)
    return folder


def test_quick_real_text(checkpoint: Path, tmp_path: Path) -> None:
    given = ["--checkpoint", str(checkpoint), "--text", str(tmp_path / "text")]
    words = ["bench", "engines", "--quick", "--parts", "text", "--text-beam", "2", *given]
    assert cli.main([*words, *outputs(tmp_path)]) == 0
    report: dict[str, Any] = json.loads((tmp_path / "e.json").read_text())
    assert report["grid"] is None
    text = report["text"]
    assert text["sentences"] == text["agreement"]["sentences"] == 20
    assert len(text["trials"]) == 2 * 2 * 3
    assert {len(times) for times in text["timing"]["seconds"].values()} == {2}
    assert "Real text: 20 sentences" in (tmp_path / "e.md").read_text()
    assert not (tmp_path / "e.png").exists()


def test_quick_real_text_with_a_shortlist(checkpoint: Path, tmp_path: Path) -> None:
    (checkpoint / SHORTLIST).write_bytes(Shortlist.whole(290).to_bytes())
    given = ["--checkpoint", str(checkpoint), "--text", str(tmp_path / "text"), "--shortlist"]
    words = ["bench", "engines", "--quick", "--parts", "text", "--text-beam", "2", *given]
    assert cli.main([*words, *outputs(tmp_path)]) == 0
    report: dict[str, Any] = json.loads((tmp_path / "e.json").read_text())
    labels = list(report["text"]["timing"]["seconds"])
    assert labels[-2:] == [f"{one} with shortlist int8" for one in ("Dragoman", "CTranslate2")]
    assert "| INT8 with shortlist |" in (tmp_path / "e.md").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--checkpoint", "folder"], "both --checkpoint FOLDER and --text FILE"),
        (["--parts", "text"], "both --checkpoint FOLDER and --text FILE"),
        (["--shortlist"], "--shortlist is for real text"),
        (["--rounds", "0"], "--rounds must be at least 1"),
        (["--slow-rounds", "9"], "--slow-rounds must be from 0 to --rounds"),
        (["--batches", "0"], "--batches must be at least 1"),
        (["--beams", "9"], "beams must be from 1 to 8"),
    ],
)
def test_wrong_arguments_are_told(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", "engines", *words]) == 2
    assert message in capsys.readouterr().err


def test_help_of_the_measurement_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["bench", "engines", "--help"])
    assert command.EXAMPLES in capsys.readouterr().out
