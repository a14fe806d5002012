"""The launcher's log: lines of Triton and of Python processes as records, shown or not."""

from __future__ import annotations

import io
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from serving.launcher.journal import Journal
from serving.launcher.log import ServerLog
from serving.launcher.records import QUIET_SECONDS, Assembler, Record

NOW = datetime.now(UTC)
HEAD = f"{NOW:%m%d} 16:02:14.031689 31459"
REQUEST = r'"{\"event\": \"request\", \"id\": \"a\\\"b\", \"ms\": 1.5}"'
TRACEBACK = """\
Exception in thread Thread-1:
Traceback (most recent call last):
  File "/srv/model_repository/translator/1/model.py", line 20, in <lambda>
    1/0
ZeroDivisionError: division by zero

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
ValueError: no"""


def records(*lines: str) -> list[Record]:
    assembler = Assembler()
    found = [record for line in lines for record in assembler.take(line)]
    return [*found, *assembler.flush()]


def test_a_line_of_tritons_is_taken_apart() -> None:
    (record,) = records(f'W{HEAD} server.cc:273] "a \\"word\\"\\nand more"')
    assert (record.level, record.source) == ("warning", "triton")
    assert record.message == 'a "word"\nand more'
    written = json.loads(record.json())
    day = NOW.strftime("%Y-%m-%d")
    assert written["time"] == f"{day}T16:02:14.031689Z"
    assert list(written) == ["time", "level", "source", "message"]


def test_a_date_in_the_future_is_of_last_year() -> None:
    (record,) = records('I1231 23:59:59.000001 1 a.cc:1] "x"')
    assert record.time <= datetime.now(UTC).replace(hour=23, minute=59, second=59, microsecond=2)
    (record,) = records('I0229 00:00:00.000000 1 a.cc:1] "x"')
    assert record.message == "x"


def test_a_message_in_json_is_merged() -> None:
    (record,) = records(f"I{HEAD} answers.py:20] {REQUEST}")
    assert record.is_request
    written = json.loads(record.json())
    assert written["message"] == "request"
    assert written["source"] == "model"
    assert (written["event"], written["id"], written["ms"]) == ("request", 'a"b', 1.5)
    named = r'"{\"model\":\"translator\",\"message\":\"hi\",\"level\":\"x\",\"time\":0}"'
    (record,) = records(f"I{HEAD} a.py:20] {named}")
    written = json.loads(record.json())
    assert (written["source"], written["message"], written["level"]) == ("translator", "hi", "info")
    assert str(written["time"]).endswith("Z")


def test_a_traceback_is_one_record_even_with_other_lines_between() -> None:
    lines = TRACEBACK.splitlines()
    between = f'I{HEAD} a.cc:1] "between"'
    first, second = records(*lines[:3], between, *lines[3:])
    assert first.message == "between"
    assert second.message == TRACEBACK
    assert (second.level, second.source) == ("error", "translator")


def test_raw_lines_are_records_of_their_own_and_blank_ones_none() -> None:
    found = records("one", "", "two", "Signal (15) received.", "  and so on")
    assert [(record.level, record.message) for record in found] == [
        ("warning", "one"),
        ("warning", "two"),
        ("info", "Signal (15) received.\n  and so on"),
    ]


def test_what_a_process_prints_behind_a_line_is_kept_apart() -> None:
    first, second = records(f'E{HEAD} model.py:20] "two\\nlines"plain', "", f'I{HEAD} a.cc:1] "x"')[
        :2
    ]
    assert first.message == "two\nlines"
    assert second.message == "x"
    messages = [r.message for r in records(f'E{HEAD} m.py:2] "a"plain', f'I{HEAD} a.cc:1] "x"')]
    assert sorted(messages) == ["a", "plain", "x"]


def test_a_table_is_one_record_with_the_time_of_its_head() -> None:
    table = ["+--+", "| a |", "+--+", ""]
    first, second = records(f"I{HEAD} server.cc:604] ", *table, f'I{HEAD} a.cc:1] "x"')
    assert {first.message, second.message} == {"x", "+--+\n| a |\n+--+"}
    assert first.level == second.level == "info"


@pytest.mark.parametrize("text", ['"{broken', '"[1, 2]"', '"{\\"a\\": }"', "bare", '"', "", "{}"])
def test_no_line_is_lost_whatever_it_looks_like(text: str) -> None:
    for record in records(f"I{HEAD} a.py:1] {text}", text):
        assert isinstance(json.loads(record.json()), dict)


def shown(
    capsys: pytest.CaptureFixture[str], lines: list[str], as_json: bool = True, **options: Any
) -> str:
    log = ServerLog(Journal(as_json=as_json), **options)
    log.shows_problems = True
    log.follow(io.StringIO("\n".join(lines) + "\n"))
    log.close()
    return capsys.readouterr().err


LINES = [
    f'I{HEAD} a.cc:1] "info"',
    f'W{HEAD} a.cc:1] "warning"',
    f'E{HEAD} a.cc:1] "error"',
    f"I{HEAD} a.py:1] {REQUEST}",
]


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1, 2]),
        ({"level": "info"}, [0, 1, 2, 3]),
        ({"level": "error"}, [2]),
        ({"requests": True}, [1, 2, 3]),
    ],
)
def test_levels_and_requests_are_shown_as_chosen(
    capsys: pytest.CaptureFixture[str], as_json: bool, options: dict[str, Any], expected: list[int]
) -> None:
    lines = shown(capsys, LINES, as_json, **options).splitlines()
    if as_json:
        found = [json.loads(line)["message"] for line in lines]
        assert found == [["info", "warning", "error", "request"][n] for n in expected]
    else:
        assert lines == [LINES[n] for n in expected]


def test_the_file_holds_json_of_everything_and_of_the_launcher(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = Journal(tmp_path / "log", as_json=True)
    log = ServerLog(journal)
    log.follow(io.StringIO("\n".join(LINES)))
    log.close()
    journal.say("ready", event="ready", seconds=1.5)
    journal.close()
    written = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line["message"] for line in written] == ["info", "warning", "error", "request", "ready"]
    assert (written[-1]["source"], written[-1]["seconds"]) == ("launcher", 1.5)
    assert json.loads(capsys.readouterr().err) == written[-1], "the others come before readiness"


def test_an_unfinished_record_is_written_once_it_is_quiet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Pipe(io.StringIO):
        def __iter__(self) -> Any:
            yield "Traceback (most recent call last):\n"
            yield "ValueError: no\n"
            time.sleep(3 * QUIET_SECONDS)
            written.append(capsys.readouterr().err)

    written: list[str] = []
    log = ServerLog(Journal(as_json=True))
    log.shows_problems = True
    log.follow(Pipe())
    log.close()
    assert json.loads(written[0])["message"].endswith("\nValueError: no")
