"""`dragoman bench served`: our Triton against CTranslate2 behind the same Triton."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench.served.campaign import Campaign, Plan
from bench.served.ctranslate2_repository import SETTINGS
from bench.served.results import Results
from serving.bundle import Bundle
from serving.errors import DragomanError
from serving.lines import read_lines
from serving.machine import machine

EXAMPLES = """\
examples:
  dragoman bench served --checkpoint runs/tatoeba-en-de/averaged \\
      --bundle model_repository/translator/1 --text test.en.gz --plot served.png
      the highest rate of sentences at which 95 % are answered within 500 ms, and latencies at
      half of it, for a tritonserver with our translator and for one with CTranslate2 in int8
      and dynamic batching; both in turn, on this machine

  dragoman bench served --checkpoint CHECKPOINT --bundle BUNDLE --text test.en.gz \\
      --settings "batch 32" --rounds 1 --seconds 10 --json > served.json
      quick: with CTranslate2's settings already chosen
"""
MAX_TOKENS = 250
"""Longer sentences are left out; real ones seldom are."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--checkpoint", type=Path, required=True, help="folder of a trained model, for CTranslate2"
    )
    parser.add_argument(
        "--bundle", type=Path, required=True, help="folder of the same model, exported"
    )
    parser.add_argument(
        "--text", type=Path, required=True, help="source sentences to send, plain or .gz"
    )
    parser.add_argument(
        "--settings",
        action="append",
        choices=SETTINGS,
        metavar="NAME",
        help=f"CTranslate2 settings to try, may be repeated (default: all): {'; '.join(SETTINGS)}",
    )
    _add_measurement_arguments(parser)
    parser.add_argument("--plot", type=Path, help="write latency over rate to this PNG")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def _add_measurement_arguments(parser: argparse.ArgumentParser) -> None:
    numbers = (
        ("rounds", int, Plan.rounds, "times that each server is measured, in turn"),
        ("seconds", float, Plan.seconds, "length of a window of load"),
        ("calibration-seconds", float, Plan.calibration_seconds, "the same to choose settings"),
        ("warm-up-seconds", float, Plan.warm_up_seconds, "load on a server before it is measured"),
        ("limit", float, Plan.limit, "milliseconds for the 95th percentile"),
        ("tolerance", float, Plan.tolerance, "relative, of the highest rate"),
        ("start-rate", float, Plan.start_rate, "sentences a second to begin with"),
        ("seed", int, Plan.seed, "of arrival times and of the choice of sentences"),
    )
    for name, kind, default, meaning in numbers:
        parser.add_argument(
            f"--{name}", type=kind, default=default, help=f"{meaning} (default: %(default)s)"
        )


def run(arguments: argparse.Namespace) -> int:
    """Measure and print.

    Raises:
        DragomanError: a file cannot be used, or a server does not start.
    """
    sentences = _sentences(arguments.bundle, arguments.text)
    results = Results(
        machine=machine(),
        text=arguments.text.name,
        sentences=len(sentences),
        source_tokens=sum(map(len, sentences)) / len(sentences),
        limit=arguments.limit,
        seconds=arguments.seconds,
    )
    with tempfile.TemporaryDirectory(prefix="dragoman-served-") as folder:
        work = Path(folder)
        convert(arguments.checkpoint, work / "converted")
        Campaign(_plan(arguments, work / "converted"), sentences, results, work).run()
    if arguments.plot:
        from bench.served.plot import draw  # only pictures need matplotlib

        draw(results, arguments.plot)
    print(results.to_json() if arguments.json else results.to_markdown())
    return 0


def convert(checkpoint: Path, folder: Path) -> None:
    """Write a checkpoint in CTranslate2's format.

    Raises:
        DragomanError: there is no checkpoint, or CTranslate2 does not know its architecture.
    """
    from bench.engines.ctranslate2_spec import specification  # with PyTorch
    from model.checkpoint import load_transformer

    folder.mkdir()
    specification(load_transformer(checkpoint), "int8").save(str(folder))


def _plan(arguments: argparse.Namespace, converted: Path) -> Plan:
    return Plan(
        bundle=arguments.bundle,
        converted=converted,
        settings=tuple(arguments.settings or SETTINGS),
        rounds=arguments.rounds,
        seconds=arguments.seconds,
        calibration_seconds=arguments.calibration_seconds,
        warm_up_seconds=arguments.warm_up_seconds,
        limit=arguments.limit,
        tolerance=arguments.tolerance,
        start_rate=arguments.start_rate,
        seed=arguments.seed,
    )


def _sentences(bundle: Path, text: Path) -> list[list[int]]:
    codec = Bundle.open(bundle).text_processor()
    encoded = [codec.encode(line) for line in read_lines(text)]
    sentences = [ids for ids in encoded if 0 < len(ids) <= MAX_TOKENS]
    if not sentences:
        raise DragomanError(f"{text} holds no sentence of 1 to {MAX_TOKENS} tokens")
    return sentences
