"""`dragoman health`: whether a running server translates. For probes: it starts in an instant."""

from __future__ import annotations

import argparse
import time

from serving.launcher.endpoint import Endpoint
from serving.launcher.probe import canary_fault, is_overload

DEFAULT_TIMEOUT_SECONDS = 10.0

EXAMPLES = """\
examples:
  dragoman health
  dragoman health --http-port 9000 --timeout 30

It asks for one translation and ends with 0 if it came, else with 1; either way it says so in one
line. A server that answers that it is overloaded counts as well: starting it anew would not help.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `dragoman health`."""
    parser.add_argument(
        "--host", default="127.0.0.1", help="where the server runs (default: %(default)s)"
    )
    parser.add_argument(
        "--http-port",
        type=int,
        default=8000,
        metavar="PORT",
        help="its port for HTTP (default: %(default)s)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=DEFAULT_TIMEOUT_SECONDS,
        metavar="SECONDS",
        help="how long the translation may take (default: %(default)g)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Say whether the server is well; returns 0 if so, else 1."""
    began = time.monotonic()
    fault = canary_fault(Endpoint(arguments.host, arguments.http_port), arguments.timeout)
    place = f"{arguments.host}:{arguments.http_port}"
    if fault is None or is_overload(fault):
        words = "is well" if fault is None else "is well, but has too much to do"
        print(f"{place} {words}, answered after {time.monotonic() - began:.2f} s")
        return 0
    print(f"{place} is not well: {fault}")
    return 1
