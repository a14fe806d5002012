"""Starting a server, again and again if need be, and waiting until it translates."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from serving.errors import DragomanError
from serving.launcher import preflight, probe
from serving.launcher.backends import backend_directory
from serving.launcher.command import command_line, environment, working_directory
from serving.launcher.endpoint import Endpoint
from serving.launcher.installation import find_installation
from serving.launcher.log import ServerLog
from serving.launcher.process import POLL_SECONDS, ServerProcess
from serving.launcher.repository_api import RepositoryApi, control_arguments
from serving.launcher.settings import ServerSettings
from serving.launcher.tracing import tracing_arguments
from serving.launcher.watch import how_it_ended


class NotReadyInTimeError(DragomanError):
    """The server neither ended nor translated within the time given."""


@dataclass(frozen=True)
class Starter:
    """Starts the same server as often as it is asked to, on the same ports.

    Attributes:
        http: where the server answers requests.
        metrics: where it tells its metrics.
        api: loads and unloads its models.
        repository: the folder of its models.
        is_traced: whether it sends traces.
    """

    http: Endpoint
    metrics: Endpoint
    api: RepositoryApi
    repository: Path
    is_traced: bool
    log: ServerLog
    ready_timeout: float
    command: tuple[str, ...]
    variables: dict[str, str]
    shared_memory_prefix: str

    @classmethod
    def checked(cls, settings: ServerSettings, log: ServerLog) -> Starter:
        """Return a starter for these settings.

        Raises:
            DragomanError: something would stop the server from starting; the message says what.
        """
        address = preflight.resolve_host(settings.host)
        preflight.check_repository(settings.repository)
        installation = find_installation(settings.tritonserver)
        preflight.check_glibc(installation)
        preflight.check_shared_memory()
        preflight.check_ports(settings, address)
        backends = backend_directory(installation)
        prefix = f"dragoman_{os.getpid()}_"
        secret = secrets.token_hex(16)
        command = command_line(settings, installation, backends, address, prefix)
        target = "127.0.0.1" if address == "0.0.0.0" else address
        http = Endpoint(target, settings.http_port)
        return cls(
            http=http,
            metrics=Endpoint(target, settings.metrics_port),
            api=RepositoryApi(http, secret),
            repository=settings.repository.resolve(),
            is_traced=settings.trace_otlp is not None,
            log=log,
            ready_timeout=settings.ready_timeout,
            command=(*command, *control_arguments(secret), *tracing_arguments(settings)),
            variables=environment(installation, backends, os.environ, settings.log_requests),
            shared_memory_prefix=prefix,
        )

    def start(self) -> ServerProcess:
        """Start the server; returns at once. Call from the main thread.

        Raises:
            DragomanError: the program cannot be started.
        """
        return ServerProcess(
            self.command, self.variables, working_directory(), self.log, self.shared_memory_prefix
        )

    def wait_until_it_translates(
        self, server: ServerProcess, is_to_stop: Callable[[], bool]
    ) -> None:
        """Return once the server translates, or once `is_to_stop`.

        Raises:
            NotReadyInTimeError: it takes too long.
            DragomanError: the server ended, or answers with an error.
        """
        deadline = time.monotonic() + self.ready_timeout
        canary: probe.Canary | None = None
        while not is_to_stop():
            code = server.exit_code()
            if code is not None:
                raise DragomanError(
                    f"tritonserver ended with {how_it_ended(code)}; its log says:\n"
                    f"{self.log.reason()}"
                )
            if time.monotonic() > deadline:
                raise NotReadyInTimeError(
                    f"the server was not ready after {self.ready_timeout:g} s "
                    f"(--ready-timeout); its log says:\n{self.log.reason()}"
                )
            if canary is None and probe.is_ready(self.http):
                canary = probe.Canary(self.http)
                canary.start()
            elif canary is not None and not canary.is_alive():
                if canary.fault is None:
                    return
                raise DragomanError(
                    f"the server is up but does not translate: {canary.fault}; "
                    f"its log says:\n{self.log.reason()}"
                )
            time.sleep(POLL_SECONDS)
