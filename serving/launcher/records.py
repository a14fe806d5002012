"""Lines of a server's log as records of time, level, source and message."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

LEVELS = ("info", "warning", "error", "fatal")
SERVER = "triton"
MODEL = "model"
"""The source of a model's line that does not tell which model."""
QUIET_SECONDS = 0.2
"""Lines that belong together come closer than that."""

_LEVELS = {"I": "info", "W": "warning", "E": "error", "F": "fatal"}
_HEAD = re.compile(
    r"([IWEF])(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{6}) \d+ (\S+?):\d+\] ?(.*)", re.DOTALL
)
_RAW_INFO = re.compile(r"Signal |[+|]")
_RAW_ERROR = re.compile(r"[Ee]rror:|Traceback")
_TRACEBACK = re.compile(
    r"^(Traceback \(most|Exception (in|ignored)|Fatal Python error)", re.MULTILINE
)
_MODEL_FILE = re.compile(r"/([^/\s\"]+)/\d+/model\.py\b")
_RESERVED = ("time", "level", "source")


@dataclass(frozen=True)
class Record:
    """One thing that was said; `details` are further keys of its JSON object."""

    time: datetime
    level: str
    source: str
    message: str
    details: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_request(self) -> bool:
        """Whether this is a model's note about one request."""
        return self.details.get("event") == "request" and self.source not in (SERVER, "launcher")

    def json(self) -> str:
        """One JSON object on one line."""
        when = self.time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        keys: dict[str, object] = {"time": when, "level": self.level, "source": self.source}
        keys["message"] = self.message
        keys.update((key, value) for key, value in self.details.items() if key not in _RESERVED)
        return json.dumps(keys, ensure_ascii=False, default=str)


class Assembler:
    """Makes records of lines; what Python prints over many lines, a traceback say, stays one."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._last = 0.0

    def take(self, line: str) -> list[Record]:
        """Return the records that this line completes."""
        head = _HEAD.match(line)
        if head is None:
            return self._take_raw(line)
        record, rest = record_of(head)
        if not record.message and not rest:  # a table follows, without time and level
            return [*self.flush(), *self._take_raw(line)]
        return [record, *(self._take_raw(rest) if rest else [])]

    def flush(self, only_if_quiet: bool = False) -> list[Record]:
        """Return the record that no line may follow any more, where there is one."""
        if not self._open or (only_if_quiet and time.monotonic() - self._last < QUIET_SECONDS):
            return []
        lines, self._open = self._open, []
        return [_raw_record("\n".join(lines).rstrip())]

    def _take_raw(self, line: str) -> list[Record]:
        done = [] if self._continues(line) else self.flush()
        if line or self._open:
            self._open.append(line)
            self._last = time.monotonic()
        return done

    def _continues(self, line: str) -> bool:
        if not self._open:
            return False
        is_table = _HEAD.match(self._open[0]) is not None
        if is_table:
            return line[:1] in ("+", "|", "")
        return line[:1] in (" ", "\t", "") or _TRACEBACK.search("\n".join(self._open)) is not None


def record_of(head: re.Match[str]) -> tuple[Record, str]:
    """Return the record of a line of Triton's, and what another process printed behind it."""
    level, month, day, hour, minute, second, micros, file, text = head.groups()
    message, rest = _unquoted(text)
    source = MODEL if file.endswith(".py") else SERVER
    numbers = [int(part) for part in (month, day, hour, minute, second, micros)]
    record = _with_details(_time(*numbers), _LEVELS[level], source, message)
    return record, rest


def level_of(line: str) -> str:
    """Return the level of one line."""
    head = _HEAD.match(line)
    return _LEVELS[head[1]] if head is not None else _raw_level(line)


def _raw_record(text: str) -> Record:
    first, _, table = text.partition("\n")
    head = _HEAD.match(first)
    if head is not None:
        record, _ = record_of(head)
        return Record(record.time, record.level, record.source, table)
    return _with_details(datetime.now(UTC), _raw_level(text), SERVER, text)


def _raw_level(text: str) -> str:
    if _RAW_ERROR.search(text):
        return "error"
    return "info" if not text or _RAW_INFO.match(text) else "warning"


def _with_details(when: datetime, level: str, source: str, message: str) -> Record:
    """Merge what the message itself tells in JSON."""
    details = _object(message)
    if details is None:
        named = _MODEL_FILE.search(message)
        return Record(when, level, named[1] if named else source, message)
    model = details.pop("model", source)
    text = details.pop("message", details.get("event", ""))
    return Record(when, level, str(model), str(text), details)


def _object(message: str) -> dict[str, object] | None:
    if not message.startswith("{"):
        return None
    try:
        found = json.loads(message)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _unquoted(text: str) -> tuple[str, str]:
    """Triton writes a message as a JSON string."""
    if not text.startswith('"'):
        return text, ""
    try:
        message, end = json.JSONDecoder(strict=False).raw_decode(text)
    except ValueError:
        return text, ""
    return str(message), text[end:]


def _time(month: int, day: int, hour: int, minute: int, second: int, micros: int) -> datetime:
    """The last such moment: Triton tells no year, and UTC whatever the time zone."""
    now = datetime.now(UTC)
    try:
        found = datetime(now.year, month, day, hour, minute, second, micros, tzinfo=UTC)
        return found if found < now + timedelta(days=1) else found.replace(year=now.year - 1)
    except ValueError:  # 29 February of another year
        return now
