"""`dragoman train`: train a model from sentence pairs, or go on with an interrupted run."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

import torch

from model.training.config import TrainingConfig
from model.training.distributed import World
from model.training.process import prepare_process
from model.training.trainer import Trainer

EXAMPLES = """\
examples:
  dragoman train configs/tatoeba-en-de.yaml
      trains, and goes on exactly where it was when the same command is run again

  torchrun --nproc-per-node 8 -m serving.cli train configs/wmt14-en-de-big.yaml
      the same on 8 GPUs; several machines with torchrun's --nnodes and --rdzv-endpoint

  tensorboard --logdir runs/tatoeba-en-de/tensorboard
      shows the curves
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("config", type=Path, help="YAML configuration; see configs/")
    parser.add_argument("--threads", type=int, help="CPU threads (default: the configuration's)")
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        help="where to compute (default: the configuration's)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Train to the end, or until SIGINT or SIGTERM (exit status 130)."""
    config = TrainingConfig.load(arguments.config)
    prepare_process()
    threads = arguments.threads or config.threads
    if threads:
        torch.set_num_threads(threads)
    world = World.join(arguments.device or config.device)
    level = logging.INFO if world.leads else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    try:
        return 0 if Trainer(config, world).run() else 130
    finally:
        world.leave()
