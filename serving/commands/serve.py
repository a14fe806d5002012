"""`dragoman serve`: serve a model repository through NVIDIA's tritonserver."""

from __future__ import annotations

import argparse
from pathlib import Path

from serving.launcher.launch import serve
from serving.launcher.settings import EXIT_TIMEOUT_SECONDS, READY_TIMEOUT_SECONDS, ServerSettings

EXAMPLES = """\
examples:
  dragoman serve
  dragoman serve my_models --http-port 9000 --grpc-port 9001 --metrics-port 9002
  dragoman serve --host 0.0.0.0 --log-file server.log
  dragoman serve --tritonserver /opt/tritonserver
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `dragoman serve`."""
    parser.add_argument(
        "repository",
        nargs="?",
        type=Path,
        default=Path("model_repository"),
        help="folder of models to serve (default: %(default)s)",
    )
    _add_network_arguments(parser)
    _add_server_arguments(parser)


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
        "--log-verbose",
        type=int,
        nargs="?",
        const=1,
        default=0,
        metavar="LEVEL",
        help="show all of the server's log; 1 and more add detail (default: warnings and errors)",
    )
    parser.add_argument(
        "--log-file",
        type=Path,
        metavar="FILE",
        help="append all of the server's log to FILE",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until asked to stop.

    Raises:
        DragomanError: the server cannot start or ended by itself; the message says why.
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
            log_verbose=arguments.log_verbose,
            log_file=arguments.log_file,
        )
    )
