"""Plans on disk: whoever is killed while writing one leaves nothing that loads as it should not."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from serving.engines.gpu.machine import Machine
from serving.engines.gpu.plans import Origin, PlanAxes, PlanFolder
from serving.errors import ConfigError

ROOT = Path(__file__).parents[2]

WRITER = """\
import os, signal, sys
from pathlib import Path
from tests.unit.test_plans_on_disk import write

left = int(sys.argv[2])

def die(event, arguments):
    global left
    left -= event in ("open", "os.rename")
    if left == 0:
        left = -1  # a kill is an event as well
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(die)
write(Path(sys.argv[1]), "new")
"""
"""Dies when it is about to open or rename a file for the nth time."""


def origin(graph: str) -> Origin:
    axes = PlanAxes({"K": 4}, ({"B": 1},))
    return Origin(graph, Machine("11.4.0", "8.9", "NVIDIA L4"), axes)


def content(graph: str) -> bytes:
    return graph.encode() * 100_000


def write(bundle: Path, graph: str) -> None:
    PlanFolder.of(bundle).write("encoder", content(graph), origin(graph), "fp16")


def load(bundle: Path, graph: str) -> bytes | None:
    try:
        return PlanFolder.of(bundle).load("encoder", origin(graph))
    except ConfigError:
        return None


def test_a_plan_is_replaced_whole_or_not_used(tmp_path: Path) -> None:
    outcomes = []
    for moment in range(1, 20):
        bundle = tmp_path / str(moment)
        PlanFolder.of(bundle).path.mkdir(parents=True)
        write(bundle, "old")
        done = subprocess.run([sys.executable, "-c", WRITER, bundle, str(moment)], cwd=ROOT)
        found = [load(bundle, graph) for graph in ("old", "new")]
        assert found[0] in (None, content("old"))
        assert found[1] in (None, content("new"))
        outcomes.append(tuple(plan is not None for plan in found))
        if done.returncode != -signal.SIGKILL:
            break
    assert outcomes[-1] == (False, True)
    assert set(outcomes) == {(True, False), (False, False), (False, True)}
