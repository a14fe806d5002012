"""The folder of models that a command serves."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_repository_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `repository`, which has a default."""
    parser.add_argument(
        "repository",
        nargs="?",
        type=Path,
        default=Path("model_repository"),
        help="folder of models to serve (default: %(default)s)",
    )
