"""Decoding options as arguments of a command."""

from __future__ import annotations

import argparse

from serving.options import MAX_BEAM_SIZE, DecodingOptions
from serving.request_options import Options

_DEFAULTS = DecodingOptions()


def add_search_arguments(parser: argparse._ActionsContainer) -> None:
    """Declare --beam-size and --length-penalty."""
    parser.add_argument(
        "--beam-size",
        type=int,
        default=_DEFAULTS.beam_size,
        metavar="K",
        help=f"hypotheses kept per step, 1 to {MAX_BEAM_SIZE} (default: %(default)s; 1 is greedy)",
    )
    parser.add_argument(
        "--length-penalty",
        type=float,
        default=_DEFAULTS.length_penalty,
        metavar="ALPHA",
        help="alpha of Wu et al. 2016, 0 to 10 (default: %(default)s; more favours long output)",
    )


def search_options(arguments: argparse.Namespace) -> Options:
    """The options given.

    Raises:
        RequestError: a value is out of its range.
    """
    return Options(beam_size=arguments.beam_size, length_penalty=arguments.length_penalty, n_best=1)
