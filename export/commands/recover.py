"""`dragoman recover`: an exported model back to a checkpoint, to train it further."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from export.recovery import recover
from model.checkpoint import save_model, write_folder
from serving.bundle import find_bundle
from serving.errors import ConfigError
from serving.text import VOCABULARY

EXAMPLES = """\
examples:
  dragoman recover model_repository runs/shipped
      writes the shipped model's weights, configuration and vocabulary to runs/shipped

  initial: runs/shipped
      in a training configuration, then goes on from them on pairs of your own (see
      dragoman train --help and configs/tatoeba-en-de-robust.yaml)

Weights are what they were, to the last bit. Only models exported in FP32 have them all.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "repository",
        type=Path,
        help="a Triton model repository, or the folder of an exported model",
    )
    parser.add_argument("checkpoint", type=Path, help="folder to write; it must not exist")


def run(arguments: argparse.Namespace) -> int:
    """Write the checkpoint.

    Raises:
        ConfigError: the folder exists, or the model cannot be recovered; it says why.
    """
    if arguments.checkpoint.exists():
        raise ConfigError(f"{arguments.checkpoint} exists already")
    bundle = find_bundle(arguments.repository)
    weights, config = recover(bundle)

    def fill(folder: Path) -> None:
        save_model(folder, weights, config)
        (folder / VOCABULARY).write_bytes((bundle / VOCABULARY).read_bytes())

    write_folder(arguments.checkpoint, fill)
    count = sum(weight.numel() for weight in weights.values())
    print(f"wrote {arguments.checkpoint}: {count:,} parameters", file=sys.stderr)
    return 0
