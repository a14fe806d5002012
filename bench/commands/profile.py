"""`dragoman bench profile`: where the time of a decoding step goes."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench.step_profile import profile_steps
from serving.bundle import Bundle, find_bundle
from serving.errors import DragomanError
from serving.lines import read_lines
from serving.machine import machine
from serving.options import DecodingOptions

EXAMPLES = """\
examples:
  dragoman bench profile model_repository test.en.gz
      the parts of a step of 16 sentences and beam 4: projection, attention, selection, host

  dragoman bench profile model_repository test.en.gz --batch 1 --served
      a sentence alone, and what Triton and gRPC add to it
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("repository", type=Path, help="an exported model or a model repository")
    parser.add_argument("text", type=Path, help="source sentences, plain or .gz")
    parser.add_argument("--batch", type=int, default=16, help="sentences (default: %(default)s)")
    parser.add_argument("--beam-size", type=int, default=4, help="(default: %(default)s)")
    parser.add_argument("--threads", type=int, default=0, help="0 takes one a core")
    parser.add_argument(
        "--served", action="store_true", help="also start Triton and measure what it adds"
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure and print.

    Raises:
        DragomanError: there is no exported model or no sentence, or Triton does not start.
    """
    bundle = Bundle.open(find_bundle(arguments.repository))
    codec = bundle.text_processor()
    sentences = [ids for ids in map(codec.encode, read_lines(arguments.text)) if ids]
    if not sentences:
        raise DragomanError(f"{arguments.text} holds no sentence")
    batch = sentences[: arguments.batch]
    print(machine())
    print(profile_steps(bundle, batch, DecodingOptions(arguments.beam_size), arguments.threads))
    if arguments.served:
        print(_served(bundle, sentences[:200]))
    return 0


def _served(bundle: Bundle, sentences: list[list[int]]) -> str:
    from bench.served.own_repository import write_own_repository
    from bench.served.server import launched
    from bench.served.triton_cost import measure_cost

    with tempfile.TemporaryDirectory(prefix="dragoman-profile-") as folder:
        repository = Path(folder) / "repository"
        write_own_repository(repository, bundle.path)
        with launched(repository, Path(folder) / "log") as address:
            found = measure_cost(address, bundle.path, sentences)
    return (
        f"one sentence at a time, median of {found.sentences}: {found.served:.2f} ms over gRPC, "
        f"{found.in_process:.2f} ms in process; Triton and gRPC add {found.cost:.2f} ms"
    )
