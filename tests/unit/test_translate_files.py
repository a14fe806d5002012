"""`dragoman translate` on files: which become what, and what is left when it is interrupted."""

from __future__ import annotations

import dataclasses
import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from serving import cli
from serving.commands import translate as command
from serving.commands.glossary import read_glossary
from serving.errors import DragomanError
from serving.request_options import Options
from serving.translator import OnDone, Translation
from tests.unit.triton_double import TritonDouble, serving

SUBTITLES = "\ufeff1\r\n00:00:01,000 --> 00:00:02,000\r\n{}\r\n"
CATALOGUE = '#. note\nmsgid "open"\nmsgstr "{}"\n\nmsgid "done"\nmsgstr "fertig"\n'


def dragoman(triton: TritonDouble, *words: object) -> int:
    with serving(triton) as address:
        return cli.main(["translate", "--server", address, *map(str, words)])


def test_every_format_comes_back_as_itself(triton: TritonDouble, tmp_path: Path) -> None:
    files = {
        "a.txt": "one\ntwo\n",
        "b.html": "<p>three</p>\r\n",
        "c.SRT": SUBTITLES.format("four"),
        "d.po": CATALOGUE.format(""),
    }
    for name, text in files.items():
        (tmp_path / name).write_bytes(text.encode())
    folder = tmp_path / "new" / "de"
    assert dragoman(triton, *(tmp_path / name for name in files), "--output-dir", folder) == 0
    found = {path.name: path.read_bytes().decode() for path in folder.iterdir()}
    assert found == {
        "a.txt": "ONE\nTWO\n",
        "b.html": "<P>THREE</P>\r\n",
        "c.SRT": SUBTITLES.format("FOUR"),
        "d.po": CATALOGUE.format("OPEN"),
    }
    formats = [asked.parameters.get("format") for asked in triton.asked]
    assert formats == [None, "html", None, None]


def test_a_file_may_be_written_over_and_flags_reach_its_format(
    triton: TritonDouble, tmp_path: Path
) -> None:
    path, link = tmp_path / "de.po", tmp_path / "link.po"
    path.write_text(CATALOGUE.format("offen"))
    link.symlink_to(path)
    assert dragoman(triton, link, "--output", link, "--all", "--mark-fuzzy") == 0
    assert path.read_text().count("#, fuzzy\n") == 2
    assert '"DONE"' in path.read_text()
    assert link.is_symlink()


def test_options_reach_the_server(triton: TritonDouble, tmp_path: Path) -> None:
    text, terms = tmp_path / "a.txt", tmp_path / "terms.tsv"
    text.write_text("one\n")
    terms.write_text("\ufeffcar\tAuto\n\n  the train \t der Zug\n")
    words = "--beam-size 3 --length-penalty 1 --min-length 2 --max-length 9 --temperature 0.5"
    words += " --repetition-penalty 1.5 --no-repeat-ngram-size 3 --top-k 4 --top-p 0.5 --seed 7"
    words += " --suppress a --suppress b --protect /x+/ --prefix So --output /dev/null"
    assert dragoman(triton, text, *words.split(), "--glossary", terms) == 0
    (asked,) = triton.asked
    assert asked.inputs == {"beam_size": 3, "length_penalty": 1.0}
    assert {**asked.parameters, "glossary": json.loads(asked.parameters["glossary"])} == {
        "min_length": 2,
        "max_length": 9,
        "temperature": 0.5,
        "repetition_penalty": 1.5,
        "no_repeat_ngram_size": 3,
        "top_k": 4,
        "top_p": 0.5,
        "seed": 7,
        "suppress": '["a", "b"]',
        "protect": '["/x+/"]',
        "prefix": "So",
        "glossary": {"car": "Auto", "the train": "der Zug"},
    }
    assert not Path("/dev/null").is_file()


def test_every_option_has_an_argument(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["translate", "--help"])
    text = capsys.readouterr().out
    names = {field.name for field in dataclasses.fields(Options)} - {"return_"}
    assert all(f"--{name.replace('_', '-')} " in text for name in names)
    assert "from 1 to 8; default: 4" in " ".join(text.split())


def test_standard_input_has_the_format_that_is_told(
    triton: TritonDouble, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any
) -> None:
    source = io.TextIOWrapper(io.BytesIO(SUBTITLES.format("four").encode()))
    monkeypatch.setattr(sys, "stdin", source)
    assert dragoman(triton, "--format", "srt") == 0
    assert capfdbinary.readouterr().out == SUBTITLES.format("FOUR").encode()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a.srt", "b.srt"], "give --output-dir"),
        (["--output-dir", "new"], "--output-dir needs files"),
        (["a.srt", "x/a.srt", "--output-dir", "new"], "would both become"),
        (["a.srt", "--output-dir", "."], "would be written over"),
        (["a.srt", "--n-best", "2"], "are for text"),
        (["bad.srt", "--output-dir", "new"], "bad.srt: no SubRip subtitles at line 1"),
        (["missing.srt"], "cannot read missing.srt"),
        (["a.srt", "--glossary", "bad.srt"], "bad.srt, line 1: a line is a term"),
    ],
)
def test_what_cannot_be_done_is_told(
    triton: TritonDouble,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: Sequence[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.srt", "b.srt"):
        Path(name).write_text(SUBTITLES.format("four"))
    Path("bad.srt").write_text("no cue")
    assert dragoman(triton, *words) == 2
    assert message in capsys.readouterr().err
    assert triton.asked == []


@pytest.mark.parametrize("name", ["a.txt", "a.html"])
def test_an_interruption_leaves_the_old_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    class Interrupted:
        def translate(
            self, texts: Sequence[str], options: Options, on_done: OnDone
        ) -> list[list[Translation]]:
            if "last" in texts[0]:
                raise KeyboardInterrupt
            return [[Translation(text, 0.0)] for text in texts]

    monkeypatch.setattr(command, "open_translator", lambda _: Interrupted())
    monkeypatch.setattr(command, "CHUNK", 1)
    source, target = tmp_path / name, tmp_path / f"new-{name}"
    source.write_text("first\nlast\n")
    target.write_text("old")
    assert cli.main(["translate", str(source), "--output", str(target)]) == 130
    assert target.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {name, target.name}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "{", "line 1: no JSON"),
        ("a.json", '{"a": 1}', "an object of texts"),
        ("a.tsv", "a\tb\nc d\n", "line 2: a line is a term, a tab"),
        ("a.tsv", "a\tb\tc\n", "line 1"),
        ("a.tsv", "a\tb\na\tc\n", "line 2: 'a' has another translation above"),
    ],
)
def test_a_wrong_glossary_is_told(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DragomanError, match=message):
        read_glossary(path)


def test_a_glossary_may_be_json(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": "b"}')
    assert read_glossary(path) == {"a": "b"}


@pytest.mark.parametrize("groups", [1, 2, 7])  # of the 7 that the lines make
def test_ctrl_c_ends_a_command_that_sends_and_waits(
    triton: TritonDouble, tmp_path: Path, groups: int
) -> None:
    triton.script = [triton.waits] * 16
    source, target = tmp_path / "a.txt", tmp_path / "b.txt"
    source.write_text("one\n" * 100)
    command = [sys.executable, "-m", "serving.cli", "translate", str(source)]
    with serving(triton) as address:
        process = subprocess.Popen(
            [*command, "--server", address, "--output", str(target)], stderr=subprocess.PIPE
        )
        until = time.monotonic() + 30
        while len(triton.asked) < groups and time.monotonic() < until:
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert triton.cancelled.wait(5)
    assert process.returncode == 130, errors
    assert errors == b""
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt"}


@pytest.mark.parametrize(("name", "package"), [("a.po", "polib"), ("a.srt", "srt")])
def test_a_missing_package_is_named(
    triton: TritonDouble,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    package: str,
) -> None:
    monkeypatch.delitem(sys.modules, "serving.formats.catalogue", raising=False)
    monkeypatch.delitem(sys.modules, "serving.formats.subtitles", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / name).write_text("")
    assert dragoman(triton, tmp_path / name) == 2
    assert f"{package!r}; install it with: pip install 'dragoman[files]'" in capsys.readouterr().err
