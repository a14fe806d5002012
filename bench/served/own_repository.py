"""Our `translator` in a Triton repository of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench.served.server import MODEL
from serving.bundle import Bundle

SHIPPED = Path(__file__).resolve().parents[2] / "model_repository" / MODEL


def write_own_repository(folder: Path, bundle: Path) -> None:
    """Write a repository at `folder` that serves an exported model with the shipped settings.

    Raises:
        ConfigError: `bundle` is no exported model.
    """
    Bundle.open(bundle)
    version = folder / MODEL / "1"
    version.mkdir(parents=True)
    shutil.copyfile(SHIPPED / "config.pbtxt", folder / MODEL / "config.pbtxt")
    shutil.copyfile(SHIPPED / "1/model.py", version / "model.py")
    for file in bundle.resolve().iterdir():
        if file.is_file() and file.name != "model.py":
            (version / file.name).symlink_to(file)
