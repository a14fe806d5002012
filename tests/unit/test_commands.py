"""The command line: help, errors, and translating lines in process."""

from __future__ import annotations

import gzip
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bench.commands.bench import SUBCOMMANDS
from serving import cli

ROOT = Path(__file__).parents[2]
REPOSITORY = ROOT / "model_repository"


def run(*arguments: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "serving.cli", *arguments]
    return subprocess.run(command, cwd=ROOT, input=text, capture_output=True, check=False)


def translate(*arguments: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return run("translate", "--repository", str(REPOSITORY), *arguments, text=text)


def test_help_lists_every_command() -> None:
    done = run("--help")
    assert done.returncode == 0
    for name in cli.COMMANDS:
        assert name.encode() in done.stdout


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help_with_examples(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main([name, "--help"])
    assert f"dragoman {name}" in capsys.readouterr().out.partition("examples:")[2]


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_every_measurement_has_help_with_examples(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["bench", name, "--help"])
    assert f"dragoman bench {name}" in capsys.readouterr().out.partition("examples:")[2]


@pytest.mark.parametrize("arguments", [[], ["fly"], ["translate", "--fly"]])
def test_wrong_usage_is_told(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert b"usage: dragoman" in done.stderr


def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in [m for m in sys.modules if m.split(".")[0] == "model"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert cli.main(["train", "config.yaml"]) == 2
    assert "pip install 'dragoman[training]'" in capsys.readouterr().err


def commands_of(document: Path) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if "dragoman " in line]


@pytest.mark.parametrize("document", [ROOT / "README.md", *ROOT.glob("docs/*.md")], ids=str)
def test_commands_in_documents_are_understood(document: Path) -> None:
    for line in commands_of(document):
        words = shlex.split(line.partition("dragoman ")[2], comments=True)
        words = words[: words.index("<")] if "<" in words else words
        cli.parse(words)


def test_standard_input_to_standard_output() -> None:
    done = translate(text=b"Good morning.\n\nThank you.\n")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.decode().split("\n")
    assert len(lines) == 4
    assert lines[0]
    assert lines[1] == ""
    assert lines[2]
    assert done.stderr == b"", "no progress bar where standard error is no terminal"


def test_files_plain_and_gzipped_to_a_file(tmp_path: Path) -> None:
    plain, zipped, output = tmp_path / "a.txt", tmp_path / "b.gz", tmp_path / "out.txt"
    plain.write_text("Good morning.\n")
    zipped.write_bytes(gzip.compress(b"Thank you."))
    done = translate(str(plain), str(zipped), "--output", str(output))
    assert done.returncode == 0, done.stderr
    separate = [translate(text=t).stdout.decode() for t in (b"Good morning.\n", b"Thank you.\n")]
    assert output.read_text() == "".join(separate)


def test_n_best_with_scores() -> None:
    done = translate("--n-best", "3", "--scores", text=b"Good morning.\n")
    rows = [line.split("\t") for line in done.stdout.decode().splitlines()]
    scores = [float(score) for score, _ in rows]
    assert len(rows) == 3
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.txt"], "cannot read missing.txt"),
        (["--output", "no/such/folder/out"], "cannot write no/such/folder/out"),
        (["--beam-size", "0"], "beam_size must be from 1 to 8"),
        (["--n-best", "9"], "n_best must be from 1 to 8"),
        (["--length-penalty", "nan"], "length_penalty must be from 0 to 10"),
    ],
)
def test_what_cannot_be_done_is_told(arguments: list[str], message: str) -> None:
    done = translate(*arguments, text=b"Good morning.\n")
    assert done.returncode == 2
    assert message in done.stderr.decode()


def test_a_line_that_is_not_utf8_is_named() -> None:
    done = translate(text=b"Good morning.\nGr\xfc\xdfe\n")
    assert done.returncode == 2
    assert b"standard input, line 2: not UTF-8" in done.stderr


def test_no_server_is_told() -> None:
    done = run("translate", "--server", "127.0.0.1:1", text=b"Good morning.\n")
    assert done.returncode == 2
    assert b"127.0.0.1:1" in done.stderr


def test_a_folder_without_a_model_is_told(tmp_path: Path) -> None:
    done = run("translate", "--repository", str(tmp_path), text=b"Good morning.\n")
    assert done.returncode == 2
    assert b"holds no exported model" in done.stderr
