"""`dragoman bench engines`: our CPU engines beside CTranslate2, Hugging Face and PyTorch."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import torch

from bench.engines.environment import processor_flags, variables, versions
from bench.engines.grid import GridPlan, run_grid
from bench.engines.plot import write_plot
from bench.engines.real_text import TextPlan, run_text
from bench.engines.report import Report, markdown
from model.config import PRESETS, ModelConfig
from serving.errors import ConfigError
from serving.machine import machine
from serving.options import MAX_BEAM_SIZE

EXAMPLES = """\
examples:
  dragoman bench engines
      the grid: a base model of random weights, batches of 1 to 32 sentences, beams of 1 to 5

  dragoman bench engines --checkpoint runs/tatoeba-en-de/averaged --text test.en.gz
      the grid, and 500 real sentences of mixed length on a trained model

  dragoman bench engines --checkpoint CHECKPOINT --text test.en.gz --parts text --rounds 9
      the real sentences alone; --shortlist adds both INT8 engines with a shortlist

  dragoman bench engines --quick
      a tiny model in few cells, to see that everything runs; its figures mean nothing
"""

PARTS = ("grid", "text")
PAUSE = 0.3
"""Seconds before each turn; see `bench.engines.rounds.take_turns`."""

CALIBRATION_SENTENCES = 200
"""As many as training keeps with a checkpoint."""

QUICK = ModelConfig.from_dict(
    {"preset": "tiny", "vocab_size": 200, "encoder_layers": 1, "decoder_layers": 1}
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--checkpoint", type=Path, help="a trained model's folder, for real text")
    parser.add_argument("--text", type=Path, help="its source sentences, plain or .gz")
    parser.add_argument(
        "--sentences", type=int, default=500, help="how many of them (default: %(default)s)"
    )
    parser.add_argument("--text-beam", type=int, default=4, help="(default: %(default)s)")
    parser.add_argument(
        "--shortlist",
        action="store_true",
        help="on real text, INT8 once more with the checkpoint's shortlist, which becomes "
        "CTranslate2's vocabulary map",
    )
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, help="what to run (default: all that can be)"
    )
    parser.add_argument(
        "--batches", type=int, nargs="+", default=[1, 8, 16, 32], help="(default: 1 8 16 32)"
    )
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 4, 5], help="(default: 1 4 5)")
    parser.add_argument(
        "--preset", choices=PRESETS, default="base", help="the grid's model (default: base)"
    )
    parser.add_argument("--vocabulary-size", type=int, default=32000, help="(default: 32000)")
    parser.add_argument(
        "--threads", type=int, default=2, help="of every contender (default: %(default)s)"
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="after one warm-up (default: %(default)s)"
    )
    parser.add_argument(
        "--slow-rounds",
        type=int,
        default=1,
        help="rounds of Hugging Face and PyTorch; 0 leaves them out (default: %(default)s)",
    )
    parser.add_argument("--quick", action="store_true", help="a tiny model, few cells, 2 rounds")
    folder = Path("build/bench")
    for kind, suffix in (("json", "json"), ("markdown", "md"), ("plot", "png")):
        default = folder / f"engines.{suffix}"
        parser.add_argument(f"--{kind}", type=Path, default=default, help="(default: %(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Measure, print the tables, and write JSON, Markdown and plot.

    Raises:
        DragomanError: the arguments or the files that they name cannot be used; it says why.
    """
    parts = _parts(arguments)
    torch.set_num_threads(arguments.threads)
    report = Report(machine(), processor_flags(), versions(), variables())
    for path in (arguments.json, arguments.markdown, arguments.plot):
        path.parent.mkdir(parents=True, exist_ok=True)
    if "grid" in parts:
        plan = grid_plan(arguments)
        report = dataclasses.replace(report, grid_plan=plan, grid=run_grid(plan))
        _write(arguments, report)  # before what may still fail
    if "text" in parts:
        text = text_plan(arguments)
        report = dataclasses.replace(report, text_plan=text, text=run_text(text))
        _write(arguments, report)
    print(markdown(report), end="")
    return 0


def _parts(arguments: argparse.Namespace) -> tuple[str, ...]:
    """What to run, once the arguments make sense."""
    whole = bool(arguments.checkpoint) + bool(arguments.text)
    parts = tuple(arguments.parts or (PARTS if whole else PARTS[:1]))
    if "text" in parts and whole < 2:
        raise ConfigError("real text needs both --checkpoint FOLDER and --text FILE")
    if arguments.shortlist and "text" not in parts:
        raise ConfigError("--shortlist is for real text: --checkpoint FOLDER and --text FILE")
    for name in ("sentences", "threads", "rounds"):
        if getattr(arguments, name) < 1:
            raise ConfigError(f"--{name} must be at least 1, not {getattr(arguments, name)}")
    if not 0 <= arguments.slow_rounds <= arguments.rounds:
        raise ConfigError(f"--slow-rounds must be from 0 to --rounds, not {arguments.slow_rounds}")
    if min(arguments.batches) < 1:
        raise ConfigError(f"--batches must be at least 1, not {min(arguments.batches)}")
    beams = [*arguments.beams, arguments.text_beam]
    if not 1 <= min(beams) <= max(beams) <= MAX_BEAM_SIZE:
        raise ConfigError(f"beams must be from 1 to {MAX_BEAM_SIZE}, not {beams}")
    return parts


def grid_plan(arguments: argparse.Namespace) -> GridPlan:
    """The grid that the arguments ask for."""
    if arguments.quick:
        return GridPlan(QUICK, (1, 2), (1, 4), 5, 6, 2, 1, arguments.threads, pause=0.0)
    sizes = {"preset": arguments.preset, "vocab_size": arguments.vocabulary_size}
    return GridPlan(
        config=ModelConfig.from_dict(sizes),
        batches=arguments.batches,
        beams=arguments.beams,
        source_tokens=25,
        output_tokens=30,
        rounds=arguments.rounds,
        slow_rounds=arguments.slow_rounds,
        threads=arguments.threads,
        pause=PAUSE,
    )


def text_plan(arguments: argparse.Namespace) -> TextPlan:
    """The real sentences that the arguments ask for."""
    return TextPlan(
        checkpoint=arguments.checkpoint,
        text=arguments.text,
        sentences=min(arguments.sentences, 20) if arguments.quick else arguments.sentences,
        calibration=5 if arguments.quick else CALIBRATION_SENTENCES,
        beam=arguments.text_beam,
        rounds=2 if arguments.quick else arguments.rounds,
        threads=arguments.threads,
        pause=0.0 if arguments.quick else PAUSE,
        shortlist=arguments.shortlist,
    )


def _write(arguments: argparse.Namespace, report: Report) -> None:
    arguments.json.write_text(report.to_json(), encoding="utf-8")
    arguments.markdown.write_text(markdown(report), encoding="utf-8")
    if report.grid:
        write_plot(report.grid, arguments.plot)
