"""Every option of a request as an argument of a command."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from serving.commands.glossary import read_glossary
from serving.option_help import MEANINGS, described
from serving.options import MOST_ENTRIES
from serving.request_options import Options

SEARCH = {
    "beam_size": (int, "K"),
    "length_penalty": (float, "ALPHA"),
    "n_best": (int, "N"),
    "min_length": (int, "N"),
    "max_length": (int, "N"),
    "repetition_penalty": (float, "X"),
    "no_repeat_ngram_size": (int, "N"),
}
DRAWING = {
    "temperature": (float, "T"),
    "top_k": (int, "K"),
    "top_p": (float, "P"),
    "seed": (int, "N"),
}


def add_option_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare them in groups; what is not given is left to the server's defaults."""
    for title, table in (("search", SEARCH), ("drawing at random", DRAWING)):
        group = parser.add_argument_group(title)
        for name, (kind, placeholder) in table.items():
            group.add_argument(_flag(name), type=kind, metavar=placeholder, help=described(name))
    texts = parser.add_argument_group("texts")
    for name, placeholder in (("suppress", "TEXT"), ("protect", "TERM")):
        texts.add_argument(
            _flag(name),
            action="append",
            metavar=placeholder,
            help=f"{MEANINGS[name]}; up to {MOST_ENTRIES[name]} times",
        )
    texts.add_argument("--prefix", metavar="TEXT", help=MEANINGS["prefix"])
    texts.add_argument(
        "--glossary",
        type=Path,
        metavar="FILE",
        help="terms and their translations: a JSON object (.json), or lines with a tab between; "
        f"up to {MOST_ENTRIES['glossary']} terms",
    )


def request_options(arguments: argparse.Namespace) -> Options:
    """The options given.

    Raises:
        RequestError: a value is out of its range.
        DragomanError: the glossary cannot be read.
    """
    names = [*SEARCH, *DRAWING, "suppress", "protect", "prefix"]
    given: Mapping[str, Any] = {name: getattr(arguments, name) for name in names}
    glossary = read_glossary(arguments.glossary) if arguments.glossary else None
    return Options(**given, glossary=glossary)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
