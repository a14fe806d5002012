"""From settings to a served model: check, start, keep it translating, stop."""

from __future__ import annotations

import shlex
import time

from serving.errors import DragomanError
from serving.launcher import preflight
from serving.launcher.journal import Journal
from serving.launcher.log import ServerLog
from serving.launcher.settings import ServerSettings
from serving.launcher.signals import StopSignals
from serving.launcher.starting import Starter
from serving.launcher.supervisor import Supervisor

EXIT_GIVEN_UP = 2


def serve(settings: ServerSettings) -> int:
    """Serve until a signal asks to stop; return 0 then.

    SIGINT, SIGTERM and SIGHUP let requests in flight finish; a second signal stops at once.
    Call from the main thread. With a log in JSON, an error is told there, and 2 returned.

    Raises:
        DragomanError: the server cannot start, is not ready in time, or dies more often than it
            may; the message holds the reason.
    """
    journal = Journal(settings.log_file, as_json=settings.log_format == "json")
    log = ServerLog(journal, settings.shown_level, requests=settings.log_requests)
    try:
        return _serve(settings, journal, log)
    except DragomanError as error:
        if not journal.as_json:
            raise
        journal.say(str(error), "error", event="failed")
        return EXIT_GIVEN_UP
    finally:
        log.close()
        journal.close()


def _serve(settings: ServerSettings, journal: Journal, log: ServerLog) -> int:
    began = time.monotonic()
    with StopSignals() as signals:
        starter = Starter.checked(settings, log)
        journal.say(f"starting tritonserver on {settings.repository}")
        supervisor = Supervisor(starter, journal, signals, settings.max_recoveries)
        try:
            supervisor.start()
            if not signals.count:
                _announce(settings, journal, time.monotonic() - began)
            supervisor.keep_translating()
            journal.say("stopping when requests in flight are done (Ctrl-C again: at once)")
        finally:
            supervisor.stop(settings.exit_timeout)
    journal.say("stopped")
    return 0


def _announce(settings: ServerSettings, journal: Journal, seconds: float) -> None:
    host = "localhost" if settings.host == "0.0.0.0" else settings.host
    http, grpc = f"http://{host}:{settings.http_port}", f"{host}:{settings.grpc_port}"
    metrics = f"http://{host}:{settings.metrics_port}/metrics"
    ready = f"ready after {seconds:.1f} s"
    if journal.as_json:
        journal.say(ready, event="ready", http=http, grpc=grpc, metrics=metrics)
        return
    body = shlex.quote('{"text": "Hello, world."}')
    print(
        f"dragoman: {ready}\n"
        f"  HTTP     {http}\n"
        f"  gRPC     {grpc}\n"
        f"  metrics  {metrics}\n"
        f"try it:  curl -s {http}/v2/models/{preflight.ENSEMBLE}/generate -d {body}\n"
        "stop it: Ctrl-C",
        flush=True,
    )
