"""Runs side by side: real ones in miniature, and stand-ins for what goes wrong."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from model.ablation.config import AblationConfig
from model.ablation.result import Outcome
from model.ablation.run import Run
from model.ablation.side_by_side import side_by_side
from serving import cli
from tests.unit.made_up_text import write_made_up

STEPS = 6


def write_config(folder: Path, steps: int = STEPS, every: int = 2) -> Path:
    """A base, a GRU, and a row whose first update is so large that the second finds no gradient."""
    write_made_up([folder / "source", folder / "target"], lines=60)
    pairs = {"source": str(folder / "source"), "target": str(folder / "target")}
    small = {"d_model": 16, "d_ff": 24, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    values: dict[str, Any] = {
        "output": str(folder / "runs"),
        "report": str(folder / "report.md"),
        "picture": str(folder / "picture.png"),
        "test": pairs,
        "lengths": {"limits": [2, 4], "rows": ["base", "gru"]},
        "base": {
            **{"train": pairs, "validation_set": pairs, "model": small},
            "vocabulary": {"size": 340, "placeholders": 0},
            "optimisation": {"steps": steps, "batch_tokens": 200, "warmup": 5, "peak_rate": 0.01},
            "checkpoints": {"every": every, "average": 2},
            "validation": {"every": 100_000, "sentences": 4, "beam_size": 2},
        },
        "rows": [
            {"name": "base", "paper": "base", "claim": "it works"},
            {
                "name": "gru",
                "paper": "4",
                "claim": "worse",
                "change": {"model.architecture": "gru"},
            },
            {"name": "wild", "paper": "", "claim": "", "change": {"optimisation.peak_rate": 1e30}},
        ],
    }
    path = folder / "ablation.yaml"
    path.write_text(yaml.safe_dump(values))
    return path


def runs_of(path: Path) -> list[Run]:
    return AblationConfig.load(path).runs()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All three rows, two at a time."""
    path = write_config(tmp_path_factory.mktemp("whole"))
    assert cli.main(["ablate", str(path), "--jobs", "2"]) == 1, "the wild row fails"
    return path


def test_all_rows_are_trained_scored_and_told(whole: Path) -> None:
    base, gru, wild = (Outcome.of(run) for run in runs_of(whole))
    assert base.result
    assert gru.result
    assert base.result.steps == gru.result.steps == STEPS
    assert base.result.target_tokens == gru.result.target_tokens > 0, "the batches differ"
    assert base.result.threads == max(1, (os.cpu_count() or 1) // 2)
    assert sum(part.sentences for part in gru.result.by_length) == 60
    assert len(base.run.translations.read_text().splitlines()) == 60
    assert wild.failure
    assert "training diverged at step 2" in wild.failure
    report = (whole.parent / "report.md").read_text()
    assert "| wild |  | `peak_rate: 1e+30` |  | failed |" in report
    assert "Failed: wild (seed 1): training diverged at step 2" in report
    assert (whole.parent / "picture.png").read_bytes().startswith(b"\x89PNG")
    vocabularies = [run.folder / "vocabulary.model" for run in runs_of(whole)]
    assert len({path.read_bytes() for path in vocabularies}) == 1


def test_results_are_there_for_programs(whole: Path) -> None:
    entries = json.loads((whole.parent / "runs/results.json").read_text())
    assert [entry["name"] for entry in entries] == ["base", "gru", "wild"]
    base, _, wild = entries
    assert {"paper", "claim", "change", "seed", "parameters", "training_seconds"} < {*base}
    assert {"tokens_per_second", "perplexity", "by_length", "machine", "threads"} < {*base}
    assert {"bleu", "chrf", "bleu_signature", "chrf_signature"} == {*base["scores"]}
    assert wild["failure"].startswith("training diverged")


def test_what_is_done_is_not_repeated(whole: Path) -> None:
    log = runs_of(whole)[0].log.read_bytes()
    assert cli.main(["ablate", str(whole), "--only", "base", "gru"]) == 0
    assert runs_of(whole)[0].log.read_bytes() == log


def test_a_killed_ablation_goes_on_where_it_was(tmp_path: Path) -> None:
    """Its run notices that it is alone, saves and stops; the next command takes it up there."""
    steps = 200
    path = write_config(tmp_path, steps, every=50)
    words = ["ablate", str(path), "--only", "base", "--jobs", "2"]  # one thread each
    run = runs_of(path)[0]
    process = subprocess.Popen([sys.executable, "-m", "serving.cli", *words])
    while process.poll() is None and not [*run.folder.glob("checkpoints/step-*/state.json")]:
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert not run.result.exists(), "it was too fast to be killed"
    assert cli.main(words) == 0
    result = Outcome.of(run).result
    assert result
    assert result.steps == steps
    first, second = re.findall(rf"parameters, step (\d+) of {steps}", run.log.read_text())
    saved = re.search(r"(\d+) steps, .* target tokens", run.log.read_text())
    assert saved
    assert int(first) == 0 < int(second) == int(saved[1]) < steps


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--jobs", "0"], "--jobs must be at least 1"),
        (["--only", "bass"], "no row bass; rows: base, gru, wild"),
    ],
)
def test_wrong_usage_is_told(
    tmp_path: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["ablate", str(write_config(tmp_path)), *words]) == 2
    assert message in capsys.readouterr().err


def test_another_vocabulary_is_refused(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = whole.with_name("other.yaml")
    other.write_text(whole.read_text().replace("size: 340", "size: 330"))
    assert cli.main(["ablate", str(other)]) == 2
    assert "has 340 pieces, not 330" in capsys.readouterr().err


def stand_in(script: str) -> Sequence[str]:
    return (sys.executable, "-S", "-c", script)


def test_runs_that_die_say_how_and_stop_no_others(tmp_path: Path) -> None:
    runs = runs_of(write_config(tmp_path))
    scripts = {
        "base": "print('no memory'); import os; os.kill(os.getpid(), 9)",
        "gru": "raise SystemExit(5)",
        "wild": "print('dragoman: error: too wild'); raise SystemExit(2)",
    }
    ended = [*side_by_side(runs, 1, lambda run: stand_in(scripts[run.name]))]
    assert ended == runs, "one at a time, in order"
    assert [Outcome.of(run).failure for run in runs] == [
        "killed by SIGKILL; its last words: no memory",
        "status 5; its last words: nothing",
        "too wild",
    ]


def test_a_run_that_succeeds_after_all_failed_no_more(tmp_path: Path) -> None:
    run = runs_of(write_config(tmp_path))[0]
    assert [*side_by_side([run], 1, lambda _: stand_in("raise SystemExit(5)"))] == [run]
    assert run.failure.exists()
    assert [*side_by_side([run], 1, lambda _: stand_in(""))] == [run]
    assert not run.failure.exists()


def test_whoever_stops_waiting_stops_the_runs(tmp_path: Path) -> None:
    runs = runs_of(write_config(tmp_path))
    until_told = "import sys; sys.stdin.read(); print('saved')"
    scripts = {"base": "", "gru": until_told, "wild": until_told}
    with contextlib.closing(side_by_side(runs, 2, lambda r: stand_in(scripts[r.name]))) as ends:
        assert next(ends) == runs[0]
    assert runs[1].log.read_text() == "saved\n"
    assert not runs[1].failure.exists(), "to be stopped is no failure"
    assert not runs[2].log.exists(), "the third was never begun"


def test_two_processes_never_share_a_run(tmp_path: Path) -> None:
    run = runs_of(write_config(tmp_path))[0]
    code = "import sys, fcntl; fcntl.flock(open(sys.argv[1], 'w'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    command = [sys.executable, "-S", "-c", code, str(run.folder / "lock")]
    with run.alone():
        assert subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 1
    assert subprocess.run(command, check=False).returncode == 0
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
