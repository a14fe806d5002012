"""From settings to a served model: check, start, wait until it translates, watch, stop."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time

from serving.errors import DragomanError
from serving.launcher import preflight, probe
from serving.launcher.backends import backend_directory
from serving.launcher.command import command_line, environment, working_directory
from serving.launcher.installation import find_installation
from serving.launcher.log import ServerLog
from serving.launcher.process import POLL_SECONDS, ServerProcess
from serving.launcher.settings import ServerSettings
from serving.launcher.signals import StopSignals

STOP_MARGIN_SECONDS = 5.0


def serve(settings: ServerSettings) -> int:
    """Serve until a signal asks to stop; return 0 then.

    SIGINT, SIGTERM and SIGHUP let requests in flight finish; a second signal stops at once.
    Call from the main thread.

    Raises:
        DragomanError: the server cannot start, is not ready in time or ends by itself; the
            message holds the reason.
    """
    began = time.monotonic()
    address = preflight.resolve_host(settings.host)
    with StopSignals() as signals:
        server, log = _start(settings, address)
        try:
            _wait_until_it_translates(server, log, settings, address, signals)
            # Before anybody is told: who kills a model at once must be noticed too.
            models = server.children()
            if not signals.count:
                log.shows_problems = True
                _announce(settings, time.monotonic() - began)
            _watch(server, log, models, signals)
            _say("stopping when requests in flight are done (Ctrl-C again: at once)")
        finally:
            _stop(server, settings, signals)
            log.close()
    _say("stopped")
    return 0


def _start(settings: ServerSettings, address: str) -> tuple[ServerProcess, ServerLog]:
    preflight.check_repository(settings.repository)
    installation = find_installation(settings.tritonserver)
    preflight.check_glibc(installation)
    preflight.check_shared_memory()
    preflight.check_ports(settings, address)
    backends = backend_directory(installation)
    log = ServerLog(settings.log_file, show_all=settings.log_verbose > 0)
    prefix = f"dragoman_{os.getpid()}_"
    command = command_line(settings, installation, backends, address, prefix)
    _say(f"starting tritonserver on {settings.repository}")
    variables = environment(installation, backends, os.environ)
    return ServerProcess(command, variables, working_directory(), log, prefix), log


def _wait_until_it_translates(
    server: ServerProcess,
    log: ServerLog,
    settings: ServerSettings,
    address: str,
    signals: StopSignals,
) -> None:
    """Return once the server translates, or once a signal asks to stop."""
    deadline = time.monotonic() + settings.ready_timeout
    target = "127.0.0.1" if address == "0.0.0.0" else address
    canary: probe.Canary | None = None
    while not signals.count:
        _check_runs(server, log)
        if time.monotonic() > deadline:
            raise DragomanError(
                f"the server was not ready after {settings.ready_timeout:g} s "
                f"(--ready-timeout); its log says:\n{log.reason()}"
            )
        if canary is None and probe.is_ready(target, settings.http_port):
            canary = probe.Canary(target, settings.http_port)
            canary.start()
        elif canary is not None and not canary.is_alive():
            if canary.fault is None:
                return
            raise DragomanError(
                f"the server is up but does not translate: {canary.fault}; "
                f"its log says:\n{log.reason()}"
            )
        time.sleep(POLL_SECONDS)


def _watch(server: ServerProcess, log: ServerLog, models: set[int], signals: StopSignals) -> None:
    """Return once a signal asks to stop; raise DragomanError when the server or a model dies."""
    while not signals.count:
        _check_runs(server, log)
        # Triton stays "ready" when the process of a Python model is gone, and fails every request.
        lost = models - server.children()
        if lost:
            raise DragomanError(
                f"a model's Python process ({min(lost)}) died, perhaps for want of memory; "
                f"the server's log says:\n{log.reason()}"
            )
        time.sleep(POLL_SECONDS)


def _check_runs(server: ServerProcess, log: ServerLog) -> None:
    code = server.exit_code()
    if code is not None:
        how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        raise DragomanError(f"tritonserver ended with {how}; its log says:\n{log.reason()}")


def _stop(server: ServerProcess, settings: ServerSettings, signals: StopSignals) -> None:
    before = min(signals.count, 1)
    timeout = settings.exit_timeout + STOP_MARGIN_SECONDS
    if not server.stop(timeout, at_once=lambda: signals.count > before):
        _say("the server was killed before it had stopped by itself")


def _announce(settings: ServerSettings, seconds: float) -> None:
    host = "localhost" if settings.host == "0.0.0.0" else settings.host
    url = f"http://{host}:{settings.http_port}/v2/models/{preflight.ENSEMBLE}/generate"
    body = shlex.quote('{"text": "Hello, world."}')
    print(
        f"dragoman: ready after {seconds:.1f} s\n"
        f"  HTTP     http://{host}:{settings.http_port}\n"
        f"  gRPC     {host}:{settings.grpc_port}\n"
        f"  metrics  http://{host}:{settings.metrics_port}/metrics\n"
        f"try it:  curl -s {url} -d {body}\n"
        "stop it: Ctrl-C",
        flush=True,
    )


def _say(message: str) -> None:
    print(f"dragoman: {message}", file=sys.stderr, flush=True)
