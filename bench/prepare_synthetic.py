"""Time and memory of `dragoman prepare` and of opening what it wrote, on a made-up corpus.

    python -m bench.prepare_synthetic --pairs 4500000

The corpus has Zipf-distributed words and about 25 of them a sentence, as WMT14 has; it is made
anew unless it is there, and left in the folder with the prepared data: 2 GB for 4.5 million pairs,
and 4 GB meanwhile.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tqdm import tqdm

from serving.machine import machine

WORDS = 500_000
BLOCK = 10_000
"""Sentences made at a time."""


def main() -> None:
    """Make, prepare, open, and print figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=4_500_000)
    parser.add_argument("--folder", type=Path, default=Path("build/synthetic"))
    parser.add_argument("--vocabulary-size", type=int, default=37_000)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    print(machine(), f"{arguments.threads} threads", sep=", ")
    files = [arguments.folder / f"{arguments.pairs}.{side}" for side in ("source", "target")]
    if not all(path.exists() for path in files):
        _apart(write_corpus, files, arguments.pairs)
    output = arguments.folder / f"prepared-{arguments.pairs}"
    shutil.rmtree(output, ignore_errors=True)
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "serving.cli", "prepare", str(output)]
    command += ["--source", str(files[0]), "--target", str(files[1])]
    command += ["--vocabulary-size", str(arguments.vocabulary_size)]
    subprocess.run([*command, "--threads", str(arguments.threads)], check=True)
    seconds = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"prepare: {seconds:.1f} s ({_cpu(after) - _cpu(before):.1f} s of CPU), "
        f"{arguments.pairs / seconds:,.0f} pairs/s, peak resident {after.ru_maxrss / 1024:,.0f} MiB"
    )
    _apart(open_as_training, output)


def _apart(function: Callable[..., None], *arguments: object) -> None:
    """Call in a process of its own: the peak of a process counts in those that it starts."""
    process = multiprocessing.get_context("spawn").Process(target=function, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(process.exitcode)


def write_corpus(files: list[Path], pairs: int) -> None:
    """Stream a corpus to disk; the same for the same number of pairs."""
    random = np.random.default_rng(1)
    chances = 1 / (np.arange(WORDS) + 2.7)  # Zipf's law, as Mandelbrot corrected it
    chances = np.cumsum(chances / chances.sum())
    lexicons = [_lexicon(random), _lexicon(random)]
    files[0].parent.mkdir(parents=True, exist_ok=True)
    partials = [path.with_name(f".{path.name}.partial") for path in files]
    with partials[0].open("w") as source, partials[1].open("w") as target:
        for done in tqdm(range(0, pairs, BLOCK), "corpus", unit="block"):
            lengths = 1 + random.poisson(24, min(BLOCK, pairs - done))
            words = np.searchsorted(chances, random.random(int(lengths.sum())))
            ends = np.cumsum(lengths)
            for stream, lexicon in zip((source, target), lexicons, strict=True):
                texts = lexicon[words]
                lines = (" ".join(texts[e - n : e]) for e, n in zip(ends, lengths, strict=True))
                stream.writelines(f"{line}.\n" for line in lines)
    for partial, path in zip(partials, files, strict=True):
        partial.replace(path)


def _lexicon(random: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    """(WORDS,) pronounceable words; the frequent ones are the shorter ones."""
    syllables = np.array([c + v for c in "bdfghklmnprstvwz" for v in "aeiou"], dtype=object)
    counts = 1 + random.poisson(np.log10(np.arange(WORDS) + 1) / 2)
    ends = np.cumsum(counts)
    parts = syllables[random.integers(len(syllables), size=int(ends[-1]))]
    words = ["".join(parts[e - n : e]) for e, n in zip(ends, counts, strict=True)]
    return np.array(words, dtype=object)


def open_as_training(folder: Path) -> None:
    """Open a prepared folder, lay out one epoch and build its first batches."""
    from model.data.batches import Pairs, collate, epoch_order
    from model.data.prepared import PreparedFolder

    before = _peak()
    began = time.monotonic()
    prepared = PreparedFolder.open(folder)
    pairs = Pairs(prepared.source, prepared.target)
    opened = time.monotonic()
    order = epoch_order(pairs, pairs.usable(200), 3200, seed=1, epoch=0)
    ordered = time.monotonic()
    for indices in order[:1000]:
        collate(pairs, indices, pad_id=0, bos_id=1)
    collated = time.monotonic()
    print(
        f"opening: {1000 * (opened - began):.0f} ms; one epoch of {len(order):,} batches: "
        f"{ordered - opened:.2f} s; 1,000 batches: {collated - ordered:.2f} s; "
        f"peak resident {_peak():,.0f} MiB, of which PyTorch and Python {before:,.0f}"
    )


def _cpu(usage: resource.struct_rusage) -> float:
    return usage.ru_utime + usage.ru_stime


def _peak() -> float:
    """Largest resident memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
