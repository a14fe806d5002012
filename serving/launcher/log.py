"""The server's log: kept to explain a failure, shown or written as the person chose."""

from __future__ import annotations

import queue
import re
import threading
from collections import deque
from pathlib import Path
from typing import IO

from serving.launcher.journal import Journal
from serving.launcher.records import LEVELS, QUIET_SECONDS, Assembler, Record, level_of

KEPT_LINES = 200
REASON_LINES = 8
DRAIN_SECONDS = 1.0

_GPU = Path("/dev/nvidiactl")
# What Triton says on every machine without a GPU, some of it as an error.
_NO_GPU = re.compile("CUDA driver|CudaDriverHelper|NVML|DCGM|no pinned memory pool")
_TABLE = re.compile(r"^[+|]|^$|\] $")
_PROBLEM = re.compile(r"^[EF]\d{4} |error:|Error:|Traceback")
_REQUEST = re.compile(r'^I\d{4} .*"\{.*\\"event\\": ?\\"request\\"')
_FAILED_MODEL = re.compile(
    r"failed to load '([^']+)' version \d+: \w+: (?:(?:Config|Dragoman)Error: )?(.*)"
)
# Ends the message in Triton's report of a Python exception; the stack follows.
_STACK = r"\n\nAt:"


class ServerLog:
    """Takes in the output of one server after the other, on threads of its own.

    Everything goes to the journal's file. Lines of `level` and above are shown; warnings and
    errors once `shows_problems` is set: until the server is ready, they are better told as the
    reason of a failure. Models' notes about requests are shown with `requests`.
    """

    def __init__(self, journal: Journal, level: str = "warning", requests: bool = False) -> None:
        self.shows_problems = False
        self._journal = journal
        self._shown_levels = LEVELS[LEVELS.index(level) :]
        self._shows_all = level == LEVELS[0]
        self._shows_requests = requests
        self._without_gpu = not _GPU.exists()
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._threads: list[threading.Thread] = []

    def follow(self, stream: IO[str]) -> None:
        """Read the output of a server to its end, in the background; forget the last one's."""
        self._drain()
        self._lines.clear()
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=_read, args=(stream, lines), daemon=True),
            threading.Thread(target=self._take_all, args=(lines,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def reason(self) -> str:
        """Why models failed to load, else the last lines of problems, else the last lines."""
        self._drain()
        lines = list(self._lines)
        chosen = _failed_models(lines) or [line for line in lines if _PROBLEM.search(line)] or lines
        return "\n".join(f"  {line}" for line in chosen[-REASON_LINES:] or ["(nothing)"])

    def close(self) -> None:
        """Take in what is still to be read."""
        self._drain()

    def _drain(self) -> None:
        # The end of the output can trail the end of the process.
        for thread in self._threads:
            thread.join(DRAIN_SECONDS)

    def _take_all(self, lines: queue.SimpleQueue[str | None]) -> None:
        assembler = Assembler()
        while True:
            try:
                line = lines.get(timeout=QUIET_SECONDS)
            except queue.Empty:
                self._write_records(assembler.flush())
                continue
            if line is None:
                self._write_records(assembler.flush())
                return
            self._keep(line)
            if self._journal.as_json:
                self._write_records(assembler.flush(only_if_quiet=True))
                self._write_records(assembler.take(line))
            else:
                is_request = _REQUEST.search(line) is not None
                self._journal.write(line, self._is_shown(line, level_of(line), is_request))

    def _keep(self, line: str) -> None:
        if not (self._is_noise(line) or _TABLE.match(line)):
            self._lines.append(line)

    def _write_records(self, records: list[Record]) -> None:
        for record in records:
            is_shown = self._is_shown(record.message, record.level, record.is_request)
            self._journal.write(record.json(), is_shown)

    def _is_shown(self, text: str, level: str, is_request: bool) -> bool:
        if self._shows_all or (is_request and self._shows_requests):
            return True
        return self.shows_problems and level in self._shown_levels and not self._is_noise(text)

    def _is_noise(self, text: str) -> bool:
        is_about_gpus = _NO_GPU.search(text) is not None and not _FAILED_MODEL.search(text)
        return self._without_gpu and is_about_gpus


def _read(stream: IO[str], lines: queue.SimpleQueue[str | None]) -> None:
    for line in stream:
        lines.put(line.rstrip("\n"))
    lines.put(None)


def _failed_models(lines: list[str]) -> list[str]:
    """One line for each fault, with the models that it stopped from loading."""
    models: dict[str, set[str]] = {}
    for line in lines:
        found = _FAILED_MODEL.search(line.removesuffix('"'))
        if found is not None:
            fault = found.group(2).partition(_STACK)[0].replace('\\"', '"')
            models.setdefault(fault, set()).add(found.group(1))
    return [f"{', '.join(sorted(names))}: {fault}" for fault, names in models.items()]
