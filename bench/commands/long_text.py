"""`dragoman bench long-text`: a book beside short requests, and the first sentence of a stream."""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
from pathlib import Path

from tqdm import tqdm

from bench.long_text.beside import Beside, Short, measure_beside, p95
from bench.long_text.stream import StreamTimes, stream_times, texts_of
from bench.soak.served import ServeProcess
from serving.client import Client
from serving.commands.repository_argument import add_repository_argument
from serving.lines import read_lines
from serving.machine import machine

EXAMPLES = """\
examples:
  dragoman bench long-text --text newstest2014.en.gz --short test.en.gz
      starts dragoman serve on model_repository; streams a text of 50 sentences again and again;
      then sends a text of a megabyte beside 4 clients that ask for 10 sentences a second

  dragoman bench long-text build/base --text test.en.gz --characters 100000
      another repository and a shorter text
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_repository_argument(parser)
    parser.add_argument("--text", type=Path, required=True, help="lines to make texts of")
    parser.add_argument("--short", type=Path, help="lines to ask for beside (default: the same)")
    numbers = (
        ("sentences", 50, "of each streamed text"),
        ("texts", 20, "that are streamed"),
        ("characters", 1_000_000, "of the long text"),
        ("clients", 4, "that ask for short texts"),
    )
    for name, default, meaning in numbers:
        parser.add_argument(
            f"--{name}", type=int, default=default, help=f"{meaning} (default: %(default)s)"
        )
    parser.add_argument(
        "--rate", type=float, default=10.0, help="short requests a second (default: %(default)s)"
    )
    parser.add_argument(
        "--alone", type=float, default=20.0, help="seconds before the long text (default: 20)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure and print.

    Raises:
        DragomanError: a file cannot be used, or the server does not start.
    """
    lines = [line for line in read_lines(arguments.text) if line.strip()]
    short = read_lines(arguments.short) if arguments.short else lines
    log = Path("build/long-text.log")
    log.parent.mkdir(exist_ok=True)
    with ServeProcess(arguments.repository, log) as served:
        with (
            Client(served.grpc) as client,
            tqdm(total=arguments.texts, file=sys.stderr, disable=None) as bar,
        ):
            texts = texts_of(lines, arguments.sentences, arguments.texts)
            client.translate(texts[0])
            times = stream_times(client, texts, bar.update)
        print(_stream_report(times, arguments.sentences))
        long = _long(lines, arguments.characters)
        clients = Short(served.grpc, short, arguments.clients, arguments.rate)
        seen = measure_beside(served.grpc, long, clients, arguments.alone, served.processes)
    print(_beside_report(seen))
    return 0


def _long(lines: list[str], characters: int) -> str:
    parts: list[str] = []
    size = 0
    for line in itertools.cycle(lines):
        if size + len(line) + 1 > characters:
            return "\n".join(parts)
        parts.append(line)
        size += len(line) + 1
    return ""


def _stream_report(times: StreamTimes, sentences: int) -> str:
    median = {
        name: f"{1000 * statistics.median(getattr(times, name)):.0f} ms"
        for name in ("first", "all", "at_once")
    }
    return (
        f"{machine()}\n{len(times.first)} texts of {sentences} sentences, medians: first after "
        f"{median['first']}, all after {median['all']} streamed, {median['at_once']} at once; "
        f"the first after {times.share:.3f} of the whole time"
    )


def _beside_report(seen: Beside) -> str:
    memory = ", ".join(
        f"{n} {before:.0f} -> {most:.0f}" for n, (before, most) in seen.memory.items()
    )
    return (
        f"{seen.characters:,} characters in {seen.long_seconds:.0f} s, lines kept: "
        f"{seen.lines_kept}\nshort requests: p95 {1000 * p95(seen.alone):.0f} ms alone "
        f"({len(seen.alone)}), {1000 * p95(seen.beside):.0f} ms beside it ({len(seen.beside)}): "
        f"{seen.ratio:.2f} times\nmost MiB before -> while: {memory}"
    )
