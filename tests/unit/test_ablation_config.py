"""What the rows of an ablation change, and how their results are split, told and drawn."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from model.ablation.config import AblationConfig
from model.ablation.lengths import LengthScore, parts_by_length, scores_by_length
from model.ablation.report import BEGIN, END, write_report
from model.ablation.result import Outcome, Result
from model.ablation.run import Run
from model.architectures import build_model
from model.evaluation import Scores, score
from model.strict import build, plain
from model.training.config import flat
from serving.errors import ConfigError

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "configs/ablations-multi30k.yaml"

VALUES: dict[str, Any] = {
    "output": "runs/small",
    "report": "report.md",
    "picture": "pictures/small.svg",
    "test": {"source": "e", "target": "f"},
    "lengths": {"limits": [2, 4], "rows": ["base", "gru"]},
    "base": {
        "train": {"source": "a", "target": "b"},
        "validation_set": {"source": "c", "target": "d"},
        "model": {"preset": "tiny", "heads": 2},
        "optimisation": {"steps": 6},
    },
    "rows": [
        {"name": "base", "paper": "base", "claim": "it works", "seeds": [1, 2]},
        {"name": "gru", "paper": "4", "claim": "worse", "change": {"model.architecture": "gru"}},
        {"name": "heads-1", "paper": "A", "claim": "worse", "change": {"model.heads": 1}},
    ],
}


def changed(**values: Any) -> dict[str, Any]:
    return {**copy.deepcopy(VALUES), **values}


def config(tmp_path: Path) -> AblationConfig:
    places = {"output": "runs", "report": "report.md", "picture": "pictures/small.svg"}
    values = changed(**{key: str(tmp_path / place) for key, place in places.items()})
    return build(AblationConfig, values, "small")


def row(**values: Any) -> dict[str, Any]:
    one = {"name": "odd", "paper": "", "claim": "", "change": {"model.heads": 1}, **values}
    return changed(rows=[VALUES["rows"][0], one], lengths={"limits": [2]})


def test_every_row_of_the_shipped_ablation_changes_what_it_names() -> None:
    ablation = AblationConfig.load(SHIPPED)
    base, *others = ablation.runs()
    assert len(ablation.rows) >= 12
    assert {ablation.rows[0].name, *ablation.lengths.rows} <= {r.name for r in ablation.rows}
    expected = flat(plain(base.config))
    for run in others:
        found = flat(plain(run.config))
        own = next(r for r in ablation.rows if r.name == run.name)
        differing = {key for key, value in found.items() if value != expected[key]}
        assert differing - {"output", "seed"} == {*own.change}, run
        assert all(found[key] == value for key, value in own.change.items())


def test_the_recurrent_model_is_as_large_as_the_base() -> None:
    runs = {run.name: run.config.model for run in AblationConfig.load(SHIPPED).runs()}
    base, gru = (
        sum(p.numel() for p in build_model(runs[name]).parameters()) for name in ("base", "gru")
    )
    assert gru == pytest.approx(base, rel=0.07)


def test_further_seeds_come_last_and_every_run_has_its_folder() -> None:
    runs = build(AblationConfig, VALUES, "small").runs()
    expected = [("base", 1), ("gru", 1), ("heads-1", 1), ("base", 2)]
    assert [(run.name, run.seed) for run in runs] == expected
    assert [(run.config.output, run.config.seed) for run in runs] == [
        (Path(f"runs/small/{name}/seed-{seed}"), seed) for name, seed in expected
    ]
    assert len({run.fingerprint for run in runs}) == len(runs)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (row(change={"model.heds": 1}), r"'heds' in row odd.model; known keys: .*heads"),
        (row(change={"vocabulary.size": 9}), r"changes 'vocabulary.size'; rows change model"),
        (row(change={"model": {"heads": 1}}), "changes 'model'"),
        (row(change={"optimisation.steps": 9}), "optimisation.steps, the budget"),
        (row(change={"optimisation.batch_tokens": 9}), "the budget"),
        (row(change={"model.heads": 2}), "exactly model.heads of the base, but changes nothing"),
        (row(change={"model.preset": "small"}), "exactly model.preset of the base, but changes m"),
        (row(change={"model.heads": "one"}), "heads must be of type int"),
        (row(change={}), "all others change"),
        (row(name="../odd"), "must be like no-dropout"),
        (row(name="base"), "two rows have one name"),
        (row(seeds=3), r"rows\[1\].seeds must be a list"),
        (row(chnage={}), "'chnage'"),
        (changed(rows=VALUES["rows"][1:]), "the first row is the base"),
        (changed(rows=[]), "the first row is the base"),
        (changed(seeds=[]), "seeds must name"),
        (changed(base={**VALUES["base"], "seed": 3}), "must not have the key 'seed'"),
        (changed(picture="small.jpeg"), "must end in .svg or .png"),
        (changed(lengths={"limits": [4, 2]}), "rising"),
        (changed(lengths={"limits": [4], "rows": ["bass"]}), "no row bass; rows: base, gru, heads"),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, values: dict[str, Any], message: str
) -> None:
    path = tmp_path / "ablation.yaml"
    path.write_text(yaml.safe_dump(values))
    with pytest.raises(ConfigError, match=message):
        AblationConfig.load(path)


@given(
    sources=st.lists(st.text("ab ", max_size=20), max_size=30),
    limits=st.sets(st.integers(1, 9), min_size=1).map(sorted),
)
def test_parts_by_length_partition_the_sentences(sources: list[str], limits: list[int]) -> None:
    parts = parts_by_length(sources, limits)
    assert sorted(i for part in parts.values() for i in part) == list(range(len(sources)))
    assert len(parts) == len(limits) + 1
    for name, part in parts.items():
        first, _, last = name.rstrip("+").partition("-")
        for index in part:
            words = len(sources[index].split())
            assert words >= int(first) or words == 0
            assert not last or words <= int(last)


def test_each_part_is_scored_apart() -> None:
    sources = ["a b", "a b c d e", "a b c d f"]
    translations = ["one two three four", "all of it is wrong", "this line here is right"]
    references = ["one two three four", "none was ever good", "this line here is right"]
    found = scores_by_length(sources, translations, references, [2, 4], score)
    assert [(part.words, part.sentences) for part in found] == [("1-2", 1), ("5+", 2)]
    assert found[0].bleu == pytest.approx(100)
    assert found[1].bleu == pytest.approx(score(translations[1:], references[1:]).bleu)


def finish(run: Run, bleu: float) -> None:
    run.folder.mkdir(parents=True)
    parts = (LengthScore("1-2", 3, bleu), LengthScore("5+", 7, bleu - 1))
    scores = Scores(bleu, bleu + 20, "bleu-signature", "chrf-signature")
    Result(run.fingerprint, "a machine", 1, 1_170_000, 6, 5_000, 2.0, 9.5, scores, parts).save(run)


def test_tables_hold_results_failures_and_what_is_missing(tmp_path: Path) -> None:
    ablation = config(tmp_path)
    base, gru, heads, again = ablation.runs()
    finish(base, 26.0)
    finish(again, 27.0)
    gru.folder.mkdir(parents=True)
    gru.failure.write_text("training diverged\n")
    ablation.report.write_text(f"# Before\n\n{BEGIN}\nold\n{END}\n\nAfter.\n")
    for _ in range(2):  # written again, it stays the same
        write_report(ablation)
        text = ablation.report.read_text()
    assert text.startswith(f"# Before\n\n{BEGIN}\n\n| row |")
    assert text.endswith(f"| base | 26.50 | 25.50 |\n\n{END}\n\nAfter.\n")
    assert "old" not in text
    assert (
        "| base | base | nothing | 1.17 M | 9.50 | 26.50 (26.00 to 27.00) |  | 46.50 | 2,500 |"
        in text
    )
    assert "| gru | 4 | `architecture: gru` |  | failed |  |  |  |  |" in text
    assert "| heads-1 | A | `heads: 1` |  | not run yet |" in text
    assert "Failed: gru (seed 1): training diverged." in text
    assert "2 seeds of base lie between 26.00 and 27.00 BLEU" in text
    assert "BLEU `bleu-signature`, chrF `chrf-signature`" in text
    assert "a machine, 1 thread a run" in text
    assert "| row | 1-2 words (3) | 5+ words (7) |" in text
    assert "](pictures/small.svg)" in text
    assert (tmp_path / "pictures/small.svg").read_text().count("base") >= 2
    finish(heads, 25.0)
    write_report(ablation)
    assert "| 25.00 | -1.50 | 45.00 |" in ablation.report.read_text()


def test_a_document_without_the_mark_is_not_overwritten(tmp_path: Path) -> None:
    ablation = config(tmp_path)
    ablation.report.write_text("all mine")
    with pytest.raises(ConfigError, match="must hold the lines"):
        write_report(ablation)
    assert ablation.report.read_text() == "all mine"


def test_the_result_of_other_settings_does_not_count(tmp_path: Path) -> None:
    run = config(tmp_path).runs()[0]
    finish(run, 26.0)
    assert Outcome.of(run).result
    longer = changed(output=str(tmp_path / "runs"))
    longer["base"]["optimisation"]["steps"] = 7
    assert Outcome.of(build(AblationConfig, longer, "small").runs()[0]).result is None
