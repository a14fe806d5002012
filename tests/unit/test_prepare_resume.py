"""An interrupted preparation goes on, and ends byte for byte as an uninterrupted one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

import pytest

from model.data.prepared import MANIFEST
from serving import cli
from tests.unit.prepare_cases import command, content, write_text

pytestmark = pytest.mark.usefixtures("quick_writes")


class KilledError(BaseException):
    """Stands for SIGKILL: nothing of ours handles it."""


def test_killed_at_every_write_it_ends_byte_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run after run dies while it writes one of its next files; 7 in a row finish the folder."""
    arguments = write_text(tmp_path)
    whole = tmp_path / "whole"
    assert cli.main(command(whole, *arguments)) == 0
    left = 0

    def write_or_die(number: int) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.truncate(number, 3)
            raise KilledError

    monkeypatch.setattr(os, "fsync", write_or_die)
    kills = 0
    while not (tmp_path / "killed" / MANIFEST).exists():
        left = 2 + kills % 7
        try:
            cli.main(command(tmp_path / "killed", *arguments))
        except KilledError:
            kills += 1
    assert kills > 7
    assert content(tmp_path / "killed") == content(whole)


def test_a_killed_process_ends_byte_equal(tmp_path: Path) -> None:
    arguments = write_text(tmp_path, 300)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert cli.main(command(whole, *arguments)) == 0
    program = [sys.executable, "-m", "serving.cli", *command(killed, *arguments)]
    for shard in (2, 15):  # of 43; then to the end
        process = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not (killed / f"work/{shard:06d}.report").exists():
            time.sleep(0.002)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert cli.main(command(killed, *arguments)) == 0
    assert content(killed) == content(whole)


def interrupt(monkeypatch: pytest.MonkeyPatch, output: Path, arguments: list[str]) -> None:
    def die(*_: object) -> NoReturn:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr("model.data.prepare.preparation.tokenise", die)
        with pytest.raises(KilledError):
            cli.main(command(output, *arguments))


@pytest.mark.parametrize("finished", [True, False])
def test_another_plan_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    finished: bool,
) -> None:
    arguments, output = write_text(tmp_path), tmp_path / "out"
    if finished:
        assert cli.main(command(output, *arguments)) == 0
    else:
        interrupt(monkeypatch, output, arguments)
    before = content(output) if finished else None
    assert cli.main(command(output, *arguments, "--max-ratio", "2", "--seed", "7")) == 2
    error = capsys.readouterr().err
    assert "was begun otherwise (cleaning: " in error
    assert "seed: 1 -> 7)" in error
    (tmp_path / "a.de").write_text("etwas anderes\n" * 60)
    assert cli.main(command(output, *arguments)) == 2
    assert f"({tmp_path}/a.de has changed); choose another output" in capsys.readouterr().err
    write_text(tmp_path)
    assert cli.main(command(output, *arguments)) == 0
    assert "60 pairs read, 60 kept" in capsys.readouterr().out
    assert before is None or content(output) == before


def test_two_at_once_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, output = write_text(tmp_path), tmp_path / "out"

    def second(*_: object) -> NoReturn:
        assert cli.main(command(output, *arguments)) == 2
        raise KilledError

    monkeypatch.setattr("model.data.prepare.preparation.tokenise", second)
    with pytest.raises(KilledError):
        cli.main(command(output, *arguments))
    assert "another dragoman prepare is at work" in capsys.readouterr().err
