"""Runs in processes of their own, a few at a time."""

from __future__ import annotations

import dataclasses
import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Sequence

import tqdm

from model.ablation.run import Run

log = logging.getLogger(__name__)

Command = Callable[[Run], Sequence[str]]
"""What to execute for a run."""

EXPLAINED = 2
"""Exit status of a process whose last line says what is wrong."""

STATUS_SECONDS = 60.0
"""Between reports on the runs that are under way."""

_POLL_SECONDS = 0.2


@dataclasses.dataclass(frozen=True)
class _Process:
    run: Run
    process: subprocess.Popen[bytes]
    began: float

    def leave(self) -> None:
        """Close the pipe that tells the process to stop, and wait until it has saved."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def side_by_side(runs: Sequence[Run], jobs: int, command: Command) -> Generator[Run]:
    """Start each run's process, at most `jobs` at a time, and yield the runs as they end.

    The processes share the cores evenly. A run whose process fails leaves the reason in its
    `failure.txt`, and the others go on. When the caller stops iterating, whatever is under way
    is told to save and stop.

    Args:
        runs: in the order of their start.
        jobs: processes at a time.
        command: is given a pipe as standard input, at whose end it must stop.
    """
    waiting, live = list(runs), list[_Process]()
    watch = _Watch(len(runs), jobs)
    threads = max(1, (os.cpu_count() or 1) // jobs)
    try:
        while waiting or live:
            while waiting and len(live) < jobs:
                live.append(_start(waiting.pop(0), command, threads))
            time.sleep(_POLL_SECONDS)
            watch.report(live)
            for ended in [p for p in live if p.process.poll() is not None]:
                live.remove(ended)
                _note_failure(ended)
                watch.ended(ended)
                yield ended.run
    finally:
        for process in live:
            process.leave()


def _start(run: Run, command: Command, threads: int) -> _Process:
    run.folder.mkdir(parents=True, exist_ok=True)
    run.failure.unlink(missing_ok=True)
    log.info("%s: begins, or goes on; see %s", run, run.log)
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    with run.log.open("ab") as output:
        process = subprocess.Popen(
            command(run), stdin=subprocess.PIPE, stdout=output, stderr=output, env=environment
        )
    return _Process(run, process, time.monotonic())


def _note_failure(ended: _Process) -> None:
    status = ended.process.returncode
    if status == 0:
        return
    reason = _last_line(ended.run).removeprefix("dragoman: error: ")
    if status != EXPLAINED:
        how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"status {status}"
        reason = f"{how}; its last words: {reason}"
    log.error("%s: failed: %s", ended.run, reason)
    ended.run.failure.write_text(reason + "\n", encoding="utf-8")


def _last_line(run: Run) -> str:
    tail = run.log.read_bytes()[-10_000:].decode("utf-8", errors="replace")
    lines = [line for line in tail.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "nothing"


class _Watch:
    """Tells a person how far everything is."""

    def __init__(self, total: int, jobs: int) -> None:
        self._total, self._jobs = total, jobs
        self._durations: list[float] = []
        self._last = time.monotonic()

    def ended(self, process: _Process) -> None:
        self._durations.append(time.monotonic() - process.began)
        done = len(self._durations)
        left = sum(self._durations) / done * (self._total - done) / self._jobs
        interval = tqdm.tqdm.format_interval(left)
        log.info("%d of %d runs have ended, about %s left", done, self._total, interval)

    def report(self, live: Sequence[_Process]) -> None:
        if time.monotonic() - self._last >= STATUS_SECONDS:
            self._last = time.monotonic()
            for process in live:
                log.info("%s: %s", process.run, _last_line(process.run))
