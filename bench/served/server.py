"""A tritonserver for a while, started as `dragoman serve` starts it."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import tritonclient.grpc as grpc
from tritonclient.utils import InferenceServerException

from serving.errors import DragomanError
from serving.launcher.backends import backend_directory
from serving.launcher.command import command_line, environment, working_directory
from serving.launcher.installation import find_installation
from serving.launcher.journal import Journal
from serving.launcher.log import ServerLog
from serving.launcher.process import POLL_SECONDS, ServerProcess
from serving.launcher.settings import EXIT_TIMEOUT_SECONDS, READY_TIMEOUT_SECONDS, ServerSettings

HOST = "127.0.0.1"
MODEL = "translator"


@contextlib.contextmanager
def launched(repository: Path, log_file: Path) -> Iterator[str]:
    """Serve a repository whose model is `translator`, and nothing else; gives the gRPC address.

    `dragoman serve` itself would want the ensemble around it, which is not measured here.

    Raises:
        DragomanError: the server cannot start, or its model does not load.
    """
    http, grpc_port, metrics = free_ports(3)
    settings = ServerSettings(
        repository, HOST, http_port=http, grpc_port=grpc_port, metrics_port=metrics
    )
    installation = find_installation()
    backends = backend_directory(installation)
    prefix = f"dragoman_{os.getpid()}_{grpc_port}_"
    command = command_line(settings, installation, backends, HOST, prefix)
    variables = environment(installation, backends, os.environ)
    journal = Journal(log_file)
    log = ServerLog(journal)
    server = ServerProcess(command, variables, working_directory(), log, prefix)
    address = f"{HOST}:{grpc_port}"
    try:
        _wait_until_ready(server, log, address)
        yield address
    finally:
        server.stop(EXIT_TIMEOUT_SECONDS, at_once=lambda: False)
        log.close()
        journal.close()


def free_ports(count: int) -> list[int]:
    """Ports on which nothing listens now."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.create_server((HOST, 0))) for _ in range(count)]
        return [int(probe.getsockname()[1]) for probe in probes]


def _wait_until_ready(server: ServerProcess, log: ServerLog, address: str) -> None:
    deadline = time.monotonic() + READY_TIMEOUT_SECONDS
    with grpc.InferenceServerClient(address) as client:
        while not _is_ready(client):
            if server.exit_code() is not None or time.monotonic() > deadline:
                raise DragomanError(f"the server does not serve; its log says:\n{log.reason()}")
            time.sleep(POLL_SECONDS)


def _is_ready(client: grpc.InferenceServerClient) -> bool:
    try:
        return bool(client.is_model_ready(MODEL))
    except InferenceServerException:
        return False
