"""The arguments of `dragoman load`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from serving.commands.search_options import add_search_arguments
from serving.commands.translate import DEFAULT_SERVER
from serving.triton.limits import MAX_TEXTS

Number = TypeVar("Number", int, float)


def add_server_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare where the server is."""
    group.add_argument(
        "--server",
        type=_address,
        default=DEFAULT_SERVER,
        metavar="HOST:PORT",
        help="its gRPC address (default: %(default)s)",
    )
    for name, port, what in (("http", 8000, "HTTP"), ("metrics", 8002, "metrics")):
        group.add_argument(
            f"--{name}",
            type=_address,
            default=f"127.0.0.1:{port}",
            metavar="HOST:PORT",
            help=f"its {what} address (default: %(default)s)",
        )
    group.add_argument(
        "--protocol",
        choices=("grpc", "http", "both"),
        default="grpc",
        help="how requests go (default: %(default)s)",
    )


def add_request_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare what is sent."""
    group.add_argument(
        "--text",
        type=Path,
        required=True,
        metavar="FILE",
        help="sentences to send, one a line, plain or .gz",
    )
    group.add_argument(
        "--sentences", type=_positive(int), metavar="N", help="take the first N (default: all)"
    )
    group.add_argument(
        "--texts-per-request",
        type=_positive(int),
        default=1,
        metavar="N",
        help=f"sentences that go together, up to {MAX_TEXTS:,} (default: %(default)s)",
    )
    add_search_arguments(group)
    group.add_argument(
        "--timeout",
        type=_positive(float),
        default=60.0,
        metavar="SECONDS",
        help="a request without an answer by then has failed (default: %(default)g)",
    )
    group.add_argument(
        "--expect",
        type=Path,
        metavar="FILE",
        help="the translations of --text, line by line: an answer that differs has failed",
    )


def add_load_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare how much of it."""
    group.add_argument(
        "--concurrency",
        type=_list(int),
        metavar="N,N,...",
        help="closed loops: so many clients, each waiting for its answer (default: 1,2,4,8 where "
        "no other load is named)",
    )
    group.add_argument(
        "--rate",
        type=_list(float),
        metavar="R,R,...",
        help="open loops: so many sentences a second in Poisson arrivals, whatever the answers do",
    )
    group.add_argument(
        "--search",
        action="store_true",
        help="find the highest rate at which the 95th percentile stays within --limit-ms",
    )
    group.add_argument(
        "--limit-ms",
        type=_positive(float),
        default=500.0,
        metavar="MS",
        help="for the 95th percentile (default: %(default)g)",
    )
    for name, default, what in (
        ("seconds", 10.0, "length of each load"),
        ("warm-up-seconds", 3.0, "load before, not counted; 0 for none"),
    ):
        group.add_argument(
            f"--{name}",
            type=_positive(float) if name == "seconds" else _not_negative,
            default=default,
            metavar="SECONDS",
            help=f"{what} (default: %(default)g)",
        )
    group.add_argument(
        "--seed",
        type=int,
        default=1,
        help="of arrivals and of the choice of sentences (default: 1)",
    )


def add_output_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare where the figures go."""
    group.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    group.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw latency over load to FILE, a PNG"
    )
    group.add_argument(
        "--write-perf-analyzer",
        type=Path,
        metavar="FILE",
        help="write the requests for perf_analyzer to FILE, print its command, and send nothing",
    )


def _address(word: str) -> str:
    host, _, port = word.rpartition(":")
    if not host or "/" in word or not port.isdigit():
        raise argparse.ArgumentTypeError(f"{word!r} is not HOST:PORT")
    return word


def _positive(kind: Callable[[str], Number]) -> Callable[[str], Number]:
    def parse(word: str) -> Number:
        try:
            value = kind(word)
        except ValueError:
            value = kind("0")
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{word!r} is not a number above 0")
        return value

    return parse


def _not_negative(word: str) -> float:
    return 0.0 if word == "0" else _positive(float)(word)


def _list(kind: Callable[[str], Number]) -> Callable[[str], list[Number]]:
    parse = _positive(kind)
    return lambda words: [parse(word) for word in words.split(",")]
