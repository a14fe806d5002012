"""A small corpus for the tests of `dragoman prepare`."""

from __future__ import annotations

from pathlib import Path


def write_text(folder: Path, pairs: int = 60) -> list[str]:
    """Two files of different short sentences; the arguments that name them."""
    folder.mkdir(parents=True, exist_ok=True)
    source = [f"the {'very ' * (n % 5)}old house {n}" for n in range(pairs)]
    target = [f"das {'sehr ' * (n % 5)}alte Haus {n}" for n in range(pairs)]
    (folder / "a.en").write_text("\n".join(source) + "\n")
    (folder / "a.de").write_text("\n".join(target) + "\n")
    return ["--source", str(folder / "a.en"), "--target", str(folder / "a.de")]


def command(output: Path, *arguments: str) -> list[str]:
    learned = ["--vocabulary-size", "310", "--shard-pairs", "7"]
    return ["prepare", str(output), *learned, *arguments]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
