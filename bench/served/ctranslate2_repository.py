"""A Triton repository whose `translator` is CTranslate2 behind Triton's dynamic batching."""

from __future__ import annotations

import dataclasses
import shutil
import string
from pathlib import Path

from bench.served.client import BEAM_SIZE
from bench.served.server import MODEL

TEMPLATE = Path(__file__).parent / "ctranslate2_translator"


@dataclasses.dataclass(frozen=True)
class Settings:
    """How Triton and CTranslate2 share the work.

    Attributes:
        max_batch_size: sentences that Triton gathers at most.
        queue_delay_microseconds: how long Triton waits for more of them.
        instances: processes, each with the model.
        workers: batches that CTranslate2 translates side by side in a process (inter_threads).
        threads: of each worker (intra_threads).
        in_flight: batches that a process takes before it has answered one.
    """

    max_batch_size: int = 32
    queue_delay_microseconds: int = 0
    instances: int = 1
    workers: int = 1
    threads: int = 2
    in_flight: int = 1


SETTINGS = {
    "batch 32": Settings(),
    "batch 8": Settings(max_batch_size=8),
    "batch 16": Settings(max_batch_size=16),
    "batch 64": Settings(max_batch_size=64),
    "batch 32, wait 2 ms": Settings(queue_delay_microseconds=2000),
    "batch 32, wait 5 ms": Settings(queue_delay_microseconds=5000),
    "batch 32, one queued": Settings(in_flight=2),
    "batch 16, 2 workers": Settings(max_batch_size=16, workers=2, threads=1, in_flight=2),
    "batch 32, 2 workers": Settings(workers=2, threads=1, in_flight=2),
    "batch 32, 2 workers, one queued": Settings(workers=2, threads=1, in_flight=3),
    "batch 16, 2 instances": Settings(max_batch_size=16, instances=2, threads=1),
    "batch 32, 2 instances": Settings(instances=2, threads=1),
}
"""What is tried on two cores, by name."""


def write_ctranslate2_repository(folder: Path, converted: Path, settings: Settings) -> None:
    """Write a repository.

    Args:
        folder: to make.
        converted: folder of the model in CTranslate2's own format.
        settings: of its `translator`.
    """
    version = folder / MODEL / "1"
    version.mkdir(parents=True)
    shutil.copyfile(TEMPLATE / "model.py", version / "model.py")
    template = string.Template((TEMPLATE / "config.pbtxt").read_text(encoding="utf-8"))
    text = template.substitute(
        dataclasses.asdict(settings), folder=converted.resolve(), beam_size=BEAM_SIZE
    )
    (folder / MODEL / "config.pbtxt").write_text(text, encoding="utf-8")
