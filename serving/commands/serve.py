"""`dragoman serve`: serve a model repository through NVIDIA's tritonserver."""

from __future__ import annotations

import argparse
from pathlib import Path

from serving.commands.repository_argument import add_repository_argument
from serving.launcher.launch import serve
from serving.launcher.settings import (
    EXIT_TIMEOUT_SECONDS,
    MAX_RECOVERIES,
    READY_TIMEOUT_SECONDS,
    TRACE_RATE,
    ServerSettings,
)

EXAMPLES = """\
examples:
  dragoman serve
  dragoman serve my_models --http-port 9000 --grpc-port 9001 --metrics-port 9002
  dragoman serve --host 0.0.0.0 --log-file server.log
  dragoman serve --log-format json --log-requests
  dragoman serve --trace-otlp http://collector:4318/v1/traces --trace-rate 100
  dragoman serve --tritonserver /opt/tritonserver
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `dragoman serve`."""
    add_repository_argument(parser)
    _add_network_arguments(parser)
    _add_server_arguments(parser)
    _add_log_arguments(parser)
    _add_trace_arguments(parser)


def _add_network_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on; 0.0.0.0 lets other machines in (default: %(default)s)",
    )
    for name, port, use in (
        ("http", 8000, "HTTP"),
        ("grpc", 8001, "gRPC"),
        ("metrics", 8002, "Prometheus metrics"),
    ):
        parser.add_argument(
            f"--{name}-port",
            type=int,
            default=port,
            metavar="PORT",
            help=f"port for {use} (default: %(default)s)",
        )


def _add_server_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tritonserver",
        type=Path,
        metavar="PATH",
        help="tritonserver program or its folder (default: the installed one)",
    )
    parser.add_argument(
        "--ready-timeout",
        type=float,
        default=READY_TIMEOUT_SECONDS,
        metavar="SECONDS",
        help="give up when the server is not ready by then (default: %(default)g)",
    )
    parser.add_argument(
        "--exit-timeout",
        type=int,
        default=EXIT_TIMEOUT_SECONDS,
        metavar="SECONDS",
        help="when stopping, wait so long for requests in flight (default: %(default)s)",
    )
    parser.add_argument(
        "--max-recoveries",
        type=_count,
        default=MAX_RECOVERIES,
        metavar="N",
        help="a model or server that dies or hangs is brought back, N times in 10 minutes; then "
        "exit with status 2 (default: %(default)s)",
    )


def _add_log_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--log-format",
        choices=("text", "json"),
        default="text",
        help="json: one object a line, with time, level, source and message (default: %(default)s)",
    )
    parser.add_argument(
        "--log-level",
        choices=("info", "warning", "error"),
        default="warning",
        help="show the server's lines of this level and above (default: %(default)s)",
    )
    parser.add_argument(
        "--log-requests",
        action="store_true",
        help="log every request: its id, outcome and time",
    )
    parser.add_argument(
        "--log-verbose",
        type=int,
        nargs="?",
        const=1,
        default=0,
        metavar="LEVEL",
        help="show all of the server's log, with Triton's details of level 1 and more",
    )
    parser.add_argument(
        "--log-file",
        type=Path,
        metavar="FILE",
        help="append everything that is said, shown or not, to FILE",
    )


def _add_trace_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trace-otlp",
        metavar="URL",
        help="send OpenTelemetry traces there, over OTLP/HTTP",
    )
    parser.add_argument(
        "--trace-rate",
        type=_positive,
        default=TRACE_RATE,
        metavar="N",
        help="trace one request in N (default: %(default)s)",
    )


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {value}")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"must be 0 or more, not {value}")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Serve until asked to stop.

    Raises:
        DragomanError: the server cannot start or cannot be kept alive; the message says why.
    """
    return serve(
        ServerSettings(
            repository=arguments.repository,
            host=arguments.host,
            http_port=arguments.http_port,
            grpc_port=arguments.grpc_port,
            metrics_port=arguments.metrics_port,
            tritonserver=arguments.tritonserver,
            ready_timeout=arguments.ready_timeout,
            exit_timeout=arguments.exit_timeout,
            max_recoveries=arguments.max_recoveries,
            log_verbose=arguments.log_verbose,
            log_level=arguments.log_level,
            log_format=arguments.log_format,
            log_requests=arguments.log_requests,
            log_file=arguments.log_file,
            trace_otlp=arguments.trace_otlp,
            trace_rate=arguments.trace_rate,
        )
    )
