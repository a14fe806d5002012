"""What the launcher and its server say: on standard error and in a file, as text or as JSON."""

from __future__ import annotations

import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

from serving.errors import DragomanError
from serving.launcher.records import Record

LAUNCHER = "launcher"


class Journal:
    """Writes whole lines, from any thread; appends them to `file` as well where one is given.

    Raises:
        DragomanError: `file` cannot be written.
    """

    def __init__(self, file: Path | None = None, as_json: bool = False) -> None:
        self.as_json = as_json
        self._lock = threading.Lock()
        try:
            self._file = file.open("a", encoding="utf-8") if file is not None else None
        except OSError as error:
            raise DragomanError(f"--log-file: cannot write {file}: {error.strerror}") from error

    def say(self, message: str, level: str = "info", **details: object) -> None:
        """Tell something of the launcher's own; `details` are further keys of the JSON."""
        record = Record(datetime.now(UTC), level, LAUNCHER, message, details)
        self.write(record.json() if self.as_json else f"dragoman: {message}", is_shown=True)

    def write(self, line: str, is_shown: bool) -> None:
        """Write a line to the file, and to standard error where `is_shown`."""
        with self._lock:
            if self._file is not None and not self._file.closed:
                print(line, file=self._file, flush=True)
            if is_shown:
                print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
