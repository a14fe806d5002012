"""Which files a command translates, each into which."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from serving.errors import DragomanError
from serving.formats.registry import TEXT, format_of


@dataclasses.dataclass(frozen=True)
class Job:
    """One output and what goes into it.

    Attributes:
        sources: files, in their order; none is standard input. Of several, all are text.
        target: None is standard output.
        kind: the format of them all.
    """

    sources: tuple[Path, ...]
    target: Path | None
    kind: str


def plan(
    files: Sequence[Path], output: Path | None, folder: Path | None, kind: str | None
) -> list[Job]:
    """The jobs for a command's files.

    Args:
        files: to translate; none is standard input.
        output: the file to write, None for standard output.
        folder: to write each file into, instead.
        kind: the format, None to go by the files' names.

    Raises:
        DragomanError: files would be written over each other or over their originals, or would
            be joined though their format does not allow it.
    """
    kinds = [kind or format_of(path) for path in files] or [kind or TEXT]
    if folder is not None:
        return _each(files, kinds, folder)
    if len(files) > 1 and set(kinds) != {TEXT}:
        raise DragomanError(
            "several files can be joined if all are text; give --output-dir to write each by itself"
        )
    return [Job(tuple(files), output, kinds[0])]


def _each(files: Sequence[Path], kinds: Sequence[str], folder: Path) -> list[Job]:
    if not files:
        raise DragomanError("--output-dir needs files; standard input has no name")
    jobs: dict[Path, Job] = {}
    for path, kind in zip(files, kinds, strict=True):
        target = folder / (path.stem if path.suffix == ".gz" else path.name)
        if target in jobs:
            raise DragomanError(f"{path} and {jobs[target].sources[0]} would both become {target}")
        if target.resolve() == path.resolve():
            raise DragomanError(f"{path} would be written over; give another --output-dir")
        jobs[target] = Job((path,), target, kind)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DragomanError(f"cannot make {folder}: {error}") from error
    return list(jobs.values())
