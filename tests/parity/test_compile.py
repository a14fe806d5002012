"""`dragoman compile`: what it builds, what it leaves alone, what it refuses."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from export.onnx_graphs import Graphs
from export.plans.errors import CompileError
from export.plans.folder import update_plans
from export.plans.lock import LOCK
from serving import cli
from serving.bundle import GPU_ENCODER, SPEC, Bundle, checksum
from serving.engines.gpu.machine import Machine, import_tensorrt
from serving.engines.gpu.plans import PlanFolder
from serving.engines.gpu.shapes import ENCODER_PLAN, Shapes
from serving.errors import ConfigError, DragomanError
from tests.parity.compiling import (
    MACHINE,
    ROOT,
    SHAPES,
    compile_here,
    loaded,
    remove_gpu_graphs,
    rtx,
    wanted,
    write_bundle,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*Timing cache operations:DeprecationWarning")

FIRST, SECOND = (plan.name for plan in SHAPES.step)
ALL = {ENCODER_PLAN, FIRST, SECOND}


@pytest.fixture
def bundle(tmp_path: Path, small_gpu_graphs: Graphs) -> Path:
    return write_bundle(tmp_path / "bundle", small_gpu_graphs)


@pytest.fixture(scope="module")
def built_once(tmp_path_factory: pytest.TempPathFactory, small_gpu_graphs: Graphs) -> Path:
    bundle = write_bundle(tmp_path_factory.mktemp("once") / "bundle", small_gpu_graphs)
    compile_here(words(bundle))
    return bundle


@pytest.fixture
def compiled(built_once: Path, tmp_path: Path) -> Path:
    """A bundle with all plans of `SHAPES`."""
    return Path(shutil.copytree(built_once, tmp_path / "bundle"))


def words(bundle: Path, shapes: Shapes = SHAPES) -> list[str]:
    file = bundle.parent / "asked.json"
    file.write_text(shapes.to_json())
    return [str(bundle), "--shapes", str(file)]


def built(said: str) -> set[str]:
    """The plans that a run built, of what it said."""
    return {line.partition(":")[0] for line in said.splitlines() if line.endswith(" MB")}


def test_all_is_built_once_and_loads(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_here(words(bundle)) == 0
    assert built(capsys.readouterr().err) == ALL
    assert all(loaded(bundle).values())
    folder = PlanFolder.of(bundle)
    assert folder.shapes() == SHAPES
    record = json.loads(folder.record_file(FIRST).read_text())
    assert record["precision"] == "fp16"
    assert record["machine"]["gpu"] == MACHINE.gpu
    assert record["axes"] == {"fixed": {"K": 2, "S": 8, "L": 16}, "profiles": [{"B": 1}, {"B": 2}]}

    before = {path: path.stat().st_mtime_ns for path in folder.path.glob("*.plan")}
    assert compile_here(words(bundle)) == 0
    said = capsys.readouterr().err
    assert built(said) == set()
    assert said.count(": current") == len(ALL)
    assert before == {path: path.stat().st_mtime_ns for path in folder.path.glob("*.plan")}


def test_what_is_current_is_not_written_to(compiled: Path) -> None:
    """A repository may be mounted read-only; nothing shows that to root but what is not there."""
    lock = PlanFolder.of(compiled).path / LOCK
    lock.unlink()
    compile_here(words(compiled))
    assert not lock.exists()


def test_plans_lie_where_one_says(bundle: Path, tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    assert compile_here([*words(bundle), "--plans", str(volume)]) == 0
    assert {path.stem for path in volume.glob("*.plan")} == ALL
    assert not PlanFolder.of(bundle).path.exists()
    folder = PlanFolder.of(bundle, volume)
    assert folder.command() == (
        f"dragoman compile {bundle} --plans {volume} --shapes {volume / 'shapes.json'}"
    )


def cut_short(bundle: Path) -> None:
    file = PlanFolder.of(bundle).plan_file(FIRST)
    file.write_bytes(file.read_bytes()[:-1])


def swap_a_byte(bundle: Path) -> None:
    file = PlanFolder.of(bundle).plan_file(FIRST)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def lose_the_plan(bundle: Path) -> None:
    PlanFolder.of(bundle).plan_file(FIRST).unlink()


def lose_the_record(bundle: Path) -> None:
    PlanFolder.of(bundle).record_file(FIRST).unlink()


def damage_the_record(bundle: Path) -> None:
    PlanFolder.of(bundle).record_file(FIRST).write_text("{}")


def export_again(bundle: Path) -> None:
    specification = json.loads((bundle / SPEC).read_text())
    content = (bundle / GPU_ENCODER).read_bytes() + b"\x12\x01x"  # a producer's name more
    (bundle / GPU_ENCODER).write_bytes(content)
    specification["sha256"][GPU_ENCODER] = checksum(content)
    (bundle / SPEC).write_text(json.dumps(specification))


@pytest.mark.parametrize(
    ("change", "name", "reason"),
    [
        (cut_short, FIRST, "its content is not what was built"),
        (swap_a_byte, FIRST, "its content is not what was built"),
        (lose_the_plan, FIRST, "it has not been built"),
        (lose_the_record, FIRST, "it has not been built"),
        (damage_the_record, FIRST, "is damaged"),
        (export_again, ENCODER_PLAN, "another export"),
    ],
)
def test_what_is_no_longer_good_is_refused_and_built_again(
    compiled: Path,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[Path], None],
    name: str,
    reason: str,
) -> None:
    change(compiled)
    with pytest.raises(ConfigError, match=f"{reason}.*dragoman compile {compiled}"):
        loaded(compiled)
    compile_here(words(compiled))
    said = capsys.readouterr().err
    assert built(said) == {name}
    assert reason in said
    assert loaded(compiled)


def test_damaged_shapes_are_replaced(compiled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = PlanFolder.of(compiled).path / "shapes.json"
    file.write_text("{")
    with pytest.raises(ConfigError, match=f"holds no plans.*dragoman compile {compiled}"):
        loaded(compiled)
    compile_here(words(compiled))
    assert built(capsys.readouterr().err) == set()
    assert loaded(compiled)


@pytest.mark.parametrize(
    ("machine", "reason"),
    [
        (dataclasses.replace(MACHINE, tensorrt="11.5.0"), "TensorRT 11.4.0 built it"),
        (dataclasses.replace(MACHINE, capability="9.0", gpu="H200"), "8.9 (NVIDIA L4)"),
    ],
)
def test_plans_of_another_machine_are_stale(compiled: Path, machine: Machine, reason: str) -> None:
    folder = PlanFolder.of(compiled)
    for name, origin in wanted(compiled, machine).items():
        assert reason in str(folder.fault(name, origin))
    compile_here(words(compiled), machine)
    assert loaded(compiled, machine)


def test_another_gpu_of_the_same_capability_takes_the_plans(compiled: Path) -> None:
    assert loaded(compiled, dataclasses.replace(MACHINE, gpu="NVIDIA L40S"))


def test_shapes_that_are_no_longer_asked_for_go(
    compiled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leftover = PlanFolder.of(compiled).path / ".encoder.plan.partial"
    leftover.write_bytes(b"of a killed build")
    fewer = dataclasses.replace(SHAPES, step=SHAPES.step[:1])
    compile_here(words(compiled, fewer))
    assert built(capsys.readouterr().err) == set()
    folder = PlanFolder.of(compiled)
    assert folder.shapes() == fewer
    assert not folder.plan_file(SECOND).exists()
    assert not folder.record_file(SECOND).exists()
    assert not leftover.exists()


def test_other_sizes_of_a_plan_are_built_alone(
    compiled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = dataclasses.replace(SHAPES.step[1], sentences=(1,))
    compile_here(words(compiled, dataclasses.replace(SHAPES, step=(SHAPES.step[0], one))))
    assert built(capsys.readouterr().err) == {SECOND}


def test_a_graph_that_is_exported_anew_meanwhile_is_told(bundle: Path) -> None:
    def export_meanwhile(_: str) -> None:
        (bundle / GPU_ENCODER).write_bytes(b"another graph")

    folder = PlanFolder.of(bundle)
    with pytest.raises(CompileError, match=r"encoder.onnx was exported anew meanwhile"):
        update_plans(rtx(), MACHINE, Bundle.open(bundle), folder, SHAPES, export_meanwhile)
    assert not list(folder.path.glob("*.plan"))


def test_two_compiles_at_once_share_the_work(bundle: Path) -> None:
    command = [sys.executable, "-m", "tests.parity.compiling", *words(bundle)]
    both = [
        subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [process.communicate()[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert built(said[0]) | built(said[1]) == ALL
    assert not built(said[0]) & built(said[1])
    assert loaded(bundle)


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="here is a GPU")
def test_no_gpu_is_told(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compile", str(bundle)]) == 2
    assert "no GPU can be used here" in capsys.readouterr().err


def test_no_tensorrt_is_told() -> None:
    with pytest.raises(DragomanError, match="TensorRT is not installed here"):
        import_tensorrt("tensorrt")


def test_an_old_tensorrt_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    old = SimpleNamespace(__version__="10.9.0", INetworkDefinition=object)
    monkeypatch.setitem(sys.modules, "tensorrt", old)
    with pytest.raises(DragomanError, match=r"TensorRT 10.9.0 .* use TensorRT 10.15 or newer"):
        import_tensorrt("tensorrt")


def test_a_bundle_without_graphs_for_gpus_is_told(bundle: Path) -> None:
    remove_gpu_graphs(bundle)
    with pytest.raises(DragomanError, match="dragoman export CHECKPOINT .* --gpu fp16"):
        compile_here([str(bundle)])


def test_a_folder_that_cannot_be_written_is_told(bundle: Path) -> None:
    (bundle / "gpu" / "plans").write_text("a file where the folder would be")
    with pytest.raises(DragomanError, match="name another folder with --plans"):
        compile_here(words(bundle))


def test_no_plans_yet_is_told(bundle: Path) -> None:
    with pytest.raises(ConfigError, match=f"holds no plans.*dragoman compile {bundle}"):
        PlanFolder.of(bundle).shapes()
