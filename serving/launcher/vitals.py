"""What the kernel tells of a process."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
# Fields of /proc/PID/stat, counted from the state, which follows the name.
_STATE, _UTIME, _STIME = 0, 11, 12


@dataclass(frozen=True)
class Vitals:
    """A live process: the states of its threads, and the CPU time of all of them in clock ticks."""

    states: frozenset[str]
    cpu_ticks: int

    @property
    def is_stopped(self) -> bool:
        """Whether a signal (SIGSTOP) holds it."""
        return "T" in self.states

    @property
    def is_traced(self) -> bool:
        """Whether a debugger holds it."""
        return "t" in self.states

    @property
    def is_busy(self) -> bool:
        """Whether it wants a CPU (perhaps in vain) or waits for a disk (swapped out, say)."""
        return bool(self.states & {"R", "D"})


def is_alive(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    fields = _stat(_PROC / str(pid))
    return fields is not None and fields[_STATE] not in "ZX"


def vitals_of(pid: int, with_threads: bool = True) -> Vitals | None:
    """Return the vitals of a process; None when it has ended.

    Without its threads, which cost a file each, the state is that of the first one alone; it
    tells as well whether the process is stopped.
    """
    fields = _stat(_PROC / str(pid))
    if fields is None or fields[_STATE] in "ZX":
        return None
    states = {fields[_STATE], *(_thread_states(pid).values() if with_threads else ())}
    return Vitals(frozenset(states), int(fields[_UTIME]) + int(fields[_STIME]))


def others_wait_for_a_cpu() -> bool:
    """Whether another thread of this process wants a CPU."""
    states = _thread_states(os.getpid())
    states.pop(threading.get_native_id(), None)
    return "R" in states.values()


def _thread_states(pid: int) -> dict[int, str]:
    tasks = {int(task.name): _stat(task) for task in (_PROC / str(pid) / "task").glob("*")}
    return {number: fields[_STATE] for number, fields in tasks.items() if fields is not None}


def children_of(pid: int) -> set[int]:
    """Return the live children of a process."""
    found: set[int] = set()
    for task in (_PROC / str(pid) / "task").glob("*/children"):
        try:
            found.update(int(child) for child in task.read_text().split())
        except OSError:
            continue
    return {child for child in found if is_alive(child)}


def model_of(command: Iterable[str], repository: Path) -> str | None:
    """Return the model whose file the command line of a Python process names."""
    for word in command:
        if Path(word).is_relative_to(repository):
            parts = Path(word).relative_to(repository).parts
            return parts[0] if parts else None
    return None


def command_of(pid: int) -> list[str]:
    """Return the command line of a process; nothing when it has ended."""
    try:
        return (_PROC / str(pid) / "cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return []


def _stat(folder: Path) -> list[str] | None:
    try:
        return (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
