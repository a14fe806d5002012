"""`make gpu-check` from end to end, over stand-ins for a GPU; and what it says without any."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from serving.bundle import Bundle
from serving.engines.gpu.machine import Machine
from serving.engines.gpu.plans import PlanFolder, graph_of, origins
from serving.engines.gpu.shapes import ENCODER_PLAN, EncoderShape, Shapes, StepPlan
from serving.lines import read_lines
from tests.gpu import check, figures
from tests.parity.compiling import MACHINE
from tests.parity.fake_gpu import FakeCudart, FakeTensorRt, fake_plan
from tests.parity.shipped import BUNDLE

ROOT = Path(__file__).parents[2]
SHAPES = Shapes(
    encoder=(EncoderShape(2, 24), EncoderShape(2, 80)),
    step=(StepPlan(4, 24, (1, 4)), StepPlan(4, 80, (4,)), StepPlan(8, 80, (3,))),
)


def fake_update(
    trt: Any, machine: Machine, bundle: Bundle, folder: PlanFolder, shapes: Shapes, say: Any
) -> None:
    """Plans that the stand-in runs, where `dragoman compile` would build TensorRT's."""
    folder.path.mkdir(parents=True)
    (folder.path / "shapes.json").write_text(shapes.to_json())
    plans = {plan.name: plan for plan in shapes.step}
    for name, origin in origins(bundle, machine, shapes).items():
        graph = (bundle.path / graph_of(name)).read_bytes()
        made = fake_plan(graph, shapes.encoder if name == ENCODER_PLAN else plans[name])
        folder.write(name, made, origin, "fp16")
        say(f"{name}: made")


@pytest.fixture
def options(tmp_path: Path) -> argparse.Namespace:
    text, shapes = tmp_path / "text", tmp_path / "shapes.json"
    text.write_text("\n".join(read_lines(check.SENTENCES)[:6]) + "\n")
    shapes.write_text(SHAPES.to_json())
    given = ["--repository", str(BUNDLE), "--text", str(text), "--shapes", str(shapes)]
    given += ["--plans", str(tmp_path / "plans"), "--throughput-sentences", "6"]
    return check._parser().parse_args(given)


def test_everything_is_checked_and_reported(
    options: argparse.Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "update_plans", fake_update)
    cudart = FakeCudart()
    report = check.check(options, FakeTensorRt(cudart), cudart, MACHINE)
    assert [name for name, part in report.items() if not part.get("passed", True)] == []
    assert report["log-probabilities"]["largest_difference"] < 0.02
    assert set(report["translations"]["same"]) == {"beam 1", "beam 4", "beam 8"}
    assert report["steps with CUDA graphs"]["4 x 4 rows, length 24"]["milliseconds"] > 0
    assert report["throughput, beam 4"]["tokens_per_second"] > 0
    assert "skipped" in report["CTranslate2, beam 4"]


def test_a_fault_fails_its_check_and_no_other(
    options: argparse.Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "update_plans", fake_update)
    monkeypatch.setattr(figures, "TOLERANCE", 0.0)
    monkeypatch.setattr(figures, "replay", lambda *_: 1 / 0)
    cudart = FakeCudart()
    report = check.check(options, FakeTensorRt(cudart), cudart, MACHINE)
    failed = {name for name, part in report.items() if not part.get("passed", True)}
    assert failed == {"log-probabilities", "CUDA graphs"}
    assert "ZeroDivisionError" in report["CUDA graphs"]["error"]


def test_a_machine_without_a_gpu_is_told_so(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.gpu.check", "--report", str(tmp_path / "report")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "skipped: no GPU can be used here" in done.stderr
    assert not (tmp_path / "report").exists()
