"""`dragoman bench widen`: a larger checkpoint that translates as a given one does."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from bench.widen import widen
from model.checkpoint import CONFIG, WEIGHTS, load_transformer, save_model, write_folder

EXAMPLES = """\
examples:
  dragoman bench widen runs/tatoeba-en-de/averaged build/base
      twice as wide and six layers deep: as large as the paper's base model where the given one
      has d_model 256

  dragoman bench widen CHECKPOINT build/big --times 2
      doubled twice
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("checkpoint", type=Path, help="folder of a trained model")
    parser.add_argument("output", type=Path, help="folder to write")
    parser.add_argument(
        "--times", type=int, choices=(1, 2, 3), default=1, help="doublings (default: %(default)s)"
    )
    parser.add_argument(
        "--layers", type=int, default=6, help="of encoder and decoder (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the checkpoint.

    Raises:
        DragomanError: there is no checkpoint, or its model cannot be widened.
    """
    model = load_transformer(arguments.checkpoint)
    for _ in range(arguments.times):
        model = widen(model, arguments.layers, arguments.layers)
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}

    def fill(folder: Path) -> None:
        save_model(folder, weights, model.config)
        for file in arguments.checkpoint.iterdir():
            if file.is_file() and file.name not in (CONFIG, WEIGHTS):
                shutil.copyfile(file, folder / file.name)

    write_folder(arguments.output, fill)
    size = sum(tensor.numel() for tensor in weights.values())
    names = ("d_model", "d_ff", "heads", "encoder_layers", "decoder_layers")
    sizes = ", ".join(f"{name} {getattr(model.config, name)}" for name in names)
    print(f"wrote {arguments.output}: {size / 1e6:.1f} M parameters, {sizes}")
    return 0
