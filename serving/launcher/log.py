"""The server's log: kept to explain a failure, shown or written as the person chose."""

from __future__ import annotations

import re
import sys
import threading
from collections import deque
from pathlib import Path
from typing import IO

from serving.errors import DragomanError

KEPT_LINES = 200
REASON_LINES = 8
DRAIN_SECONDS = 1.0

_GPU = Path("/dev/nvidiactl")
# What Triton says on every machine without a GPU, some of it as an error.
_NO_GPU = re.compile("CUDA driver|CudaDriverHelper|NVML|DCGM|no pinned memory pool")
_TABLE = re.compile(r"^[+|]|^$|\] $")
_INFO = re.compile(r"^I\d{4} |^Signal ")
_PROBLEM = re.compile(r"^[EF]\d{4} |error:|Error:|Traceback")
_FAILED_MODEL = re.compile(
    r"failed to load '([^']+)' version \d+: \w+: (?:(?:Config|Dragoman)Error: )?(.*)"
)
# Ends the message in Triton's report of a Python exception; the stack follows.
_STACK = r"\n\nAt:"


class ServerLog:
    """Takes in the server's output on a thread of its own.

    Everything goes to `file` where one is given. With `show_all`, everything is shown on
    standard error; else warnings and errors are, once `shows_problems` is set: until the server
    is ready, they are better told as the reason of a failure.

    Raises:
        DragomanError: `file` cannot be written.
    """

    def __init__(self, file: Path | None, show_all: bool) -> None:
        self.shows_problems = False
        self._show_all = show_all
        self._without_gpu = not _GPU.exists()
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._thread: threading.Thread | None = None
        try:
            self._file = file.open("a", encoding="utf-8") if file is not None else None
        except OSError as error:
            raise DragomanError(f"--log-file: cannot write {file}: {error.strerror}") from error

    def follow(self, stream: IO[str]) -> None:
        """Read `stream` to its end, in the background."""
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def reason(self) -> str:
        """Why models failed to load, else the last lines of problems, else the last lines."""
        self._drain()
        lines = list(self._lines)
        chosen = _failed_models(lines) or [line for line in lines if _PROBLEM.search(line)] or lines
        return "\n".join(f"  {line}" for line in chosen[-REASON_LINES:] or ["(nothing)"])

    def close(self) -> None:
        """Take in what is still to be read, then close the file."""
        self._drain()
        if self._file is not None:
            self._file.close()

    def _drain(self) -> None:
        # The end of the output can trail the end of the process.
        if self._thread is not None:
            self._thread.join(DRAIN_SECONDS)

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self._take(line.rstrip("\n"))

    def _take(self, line: str) -> None:
        if self._file is not None and not self._file.closed:
            print(line, file=self._file, flush=True)
        is_noise = self._without_gpu and _NO_GPU.search(line) and not _FAILED_MODEL.search(line)
        is_table = _TABLE.match(line) is not None
        if not (is_noise or is_table):
            self._lines.append(line)
        is_problem = not (is_noise or is_table or _INFO.match(line))
        if self._show_all or (is_problem and self.shows_problems):
            print(line, file=sys.stderr, flush=True)


def _failed_models(lines: list[str]) -> list[str]:
    """One line for each fault, with the models that it stopped from loading."""
    models: dict[str, set[str]] = {}
    for line in lines:
        found = _FAILED_MODEL.search(line.removesuffix('"'))
        if found is not None:
            fault = found.group(2).partition(_STACK)[0].replace('\\"', '"')
            models.setdefault(fault, set()).add(found.group(1))
    return [f"{', '.join(sorted(names))}: {fault}" for fault, names in models.items()]
