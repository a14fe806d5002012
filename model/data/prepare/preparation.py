"""A preparation from its inputs to a finished folder, which may be killed at any moment."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from model.data.prepare.checksums import sha256_of_all
from model.data.prepare.inputs import count_pairs
from model.data.prepare.plan import Plan, check_same
from model.data.prepare.report import Report
from model.data.prepare.shards import Shards
from model.data.prepare.stages import SIDES, clean, tokenise, vocabulary
from model.data.prepared import FILES, MANIFEST, REPORT, FileSeal, Manifest, PreparedFolder
from model.data.tokens import TokenWriter, id_type
from serving.atomic import replacing, write_json
from serving.errors import DragomanError
from serving.text import VOCABULARY

log = logging.getLogger(__name__)

WORK = "work"
"""Folder inside the output, for what an interrupted preparation goes on from."""


def prepare(plan: Plan, output: Path, threads: int) -> Report:
    """Write a prepared folder, or finish one; a finished one is left as it is.

    Raises:
        ConfigError: the folder was begun with another plan, or the vocabulary cannot be learned.
        DragomanError: an input is broken, or the folder belongs to something else or is in use.
    """
    seal = plan.seal()
    if (output / MANIFEST).exists():
        done = PreparedFolder.open(output)
        check_same(done.manifest.plan, seal, output)
        shutil.rmtree(output / WORK, ignore_errors=True)
        log.info("%s was prepared before", output)
        return _report(output)
    work = output / WORK
    if output.exists() and any(output.iterdir()) and not work.is_dir():
        raise DragomanError(f"{output} is in use for something else; choose another output")
    with _alone(work):
        counts = _begin(plan, seal, work, output)
        shards = Shards(work, sum(counts), plan.options.shard_pairs)
        report = clean(plan, shards, counts)
        text = vocabulary(plan, shards, output / VOCABULARY)
        tokenise(text, shards, threads)
        write_json(output / REPORT, report.to_dict())
        _write(output, shards, seal, text.vocab_size)
        shutil.rmtree(work)
    return report


@contextlib.contextmanager
def _alone(work: Path) -> Iterator[None]:
    """Hold the folder against a second preparation; the lock ends with the process."""
    work.mkdir(parents=True, exist_ok=True)
    with (work / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DragomanError(f"another dragoman prepare is at work in {work.parent}") from error
        yield


def _begin(plan: Plan, seal: dict[str, Any], work: Path, output: Path) -> list[int]:
    """Pairs of each input; refuses to go on with another plan's work."""
    path = work / "plan.json"
    if path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))
        check_same(before["plan"], seal, output)
        counts: list[int] = before["counts"]
        return counts
    log.info("counting pairs")
    counts = [count_pairs(source) for source in plan.inputs]
    write_json(path, {"plan": seal, "counts": counts})
    return counts


def _write(output: Path, shards: Shards, seal: dict[str, Any], vocab_size: int) -> None:
    """Join the shards; the manifest, written last, makes the folder a finished one."""
    log.info("writing %s", output)
    dtype = id_type(vocab_size)
    source, target = (_join(output, shards, side, dtype) for side in SIDES)
    digests = sha256_of_all([output / name for name in FILES])
    sizes = [(output / name).stat().st_size for name in FILES]
    seals = map(FileSeal, sizes, digests.values())
    files = dict(zip(FILES, seals, strict=True))
    pairs = source.count  # as many as the target's
    manifest = Manifest(pairs, source.total, target.total, vocab_size, dtype, files, seal)
    write_json(output / MANIFEST, dataclasses.asdict(manifest))


def _join(output: Path, shards: Shards, side: str, dtype: str) -> TokenWriter:
    with (
        replacing(output / f"{side}.ids") as ids,
        replacing(output / f"{side}.offsets") as offsets,
    ):
        writer = TokenWriter(ids, offsets, dtype)
        for shard in range(shards.count):
            lengths = shards.tokens(shard, f"{side}.lengths")
            writer.append(shards.tokens(shard, f"{side}.ids"), lengths)
    return writer


def _report(output: Path) -> Report:
    return Report.from_dict(json.loads((output / REPORT).read_text(encoding="utf-8")))
