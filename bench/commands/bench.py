"""`dragoman bench`: measurements that can be repeated, and what they need, as subcommands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from serving.cli import Command, load

SUBCOMMANDS = {
    "alignment": Command(
        "bench.commands.alignment", "which cross-attention aligns words best", "export"
    ),
    "engines": Command(
        "bench.commands.engines",
        "our CPU engines beside CTranslate2, Hugging Face and PyTorch",
        "bench",
    ),
    "long-text": Command(
        "bench.commands.long_text",
        "a long text beside short requests, and the first sentence of a stream",
        "bench",
    ),
    "native": Command(
        "bench.commands.native",
        "a step whose graph is a model of Triton's, beside one in process",
        "bench",
    ),
    "profile": Command(
        "bench.commands.profile", "where the time of a decoding step goes", "serving"
    ),
    "random": Command(
        "bench.commands.random", "a repository of random weights and a fixed output length", "bench"
    ),
    "robustness": Command(
        "bench.commands.robustness",
        "translations of text as people write it: capitals, placeholders, tags",
        "bench",
    ),
    "sentences": Command(
        "bench.commands.sentences", "sentence splitters on hard cases, and their speed", "serving"
    ),
    "served": Command(
        "bench.commands.served",
        "our server beside CTranslate2 behind the same Triton, under load",
        "bench",
    ),
    "soak": Command(
        "bench.commands.soak", "a server under load for long: errors, memory, translations", "bench"
    ),
    "widen": Command(
        "bench.commands.widen", "a larger checkpoint that translates as a given one does", "bench"
    ),
}

EXAMPLES = """\
examples:
  dragoman bench engines
  dragoman bench engines --checkpoint runs/tatoeba-en-de/averaged --text test.en.gz

`dragoman bench MEASUREMENT --help` shows the options and examples of a measurement.
"""


class SubcommandParser(argparse.ArgumentParser):
    """Imports the subcommand's module only when its own words are parsed."""

    command: Command

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Declare the module's arguments, then parse."""
        module = load(self.command)
        self.epilog = module.EXAMPLES
        module.add_arguments(self)
        self.set_defaults(run=module.run)
        return super().parse_known_args(args, namespace)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands."""
    subcommands = parser.add_subparsers(
        metavar="MEASUREMENT", required=True, parser_class=SubcommandParser
    )
    for name, command in SUBCOMMANDS.items():
        sub = subcommands.add_parser(
            name,
            help=command.help,
            description=command.help,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.command = command


def run(arguments: argparse.Namespace) -> int:
    """Hand over to the subcommand; argparse has refused words without one."""
    raise AssertionError(f"no subcommand in {arguments}")
