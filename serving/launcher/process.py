"""A running tritonserver: started so that nothing of it outlives us, and stopped cleanly."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from serving.errors import DragomanError
from serving.launcher.log import ServerLog
from serving.launcher.preflight import SHARED_MEMORY
from serving.launcher.vitals import children_of

PR_SET_PDEATHSIG = 1
KILL_GRACE_SECONDS = 5.0
POLL_SECONDS = 0.1


class ServerProcess:
    """One tritonserver with the Python processes of its models, in a session of their own.

    Raises:
        DragomanError: the program cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        log: ServerLog,
        shared_memory_prefix: str,
    ) -> None:
        self._prefix = shared_memory_prefix
        try:
            # A session of its own: Ctrl-C reaches the launcher alone, which then stops it in order.
            self._process = subprocess.Popen(
                command,
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
                preexec_fn=_die_with_parent(),
            )
        except OSError as error:
            raise DragomanError(f"cannot start {command[0]}: {error}") from error
        assert self._process.stdout is not None
        log.follow(self._process.stdout)

    @property
    def pid(self) -> int:
        """The process id of the tritonserver."""
        return self._process.pid

    def exit_code(self) -> int | None:
        """Return the exit code, or None while the server runs."""
        return self._process.poll()

    def children(self) -> set[int]:
        """Return the live children of the server: a Python process for each model instance."""
        return children_of(self.pid)

    def stop(self, timeout: float, at_once: Callable[[], bool]) -> bool:
        """Ask the server to finish what it has and exit; kill it after `timeout` seconds.

        `at_once` is asked again and again whether to kill it now. Returns whether the server
        exited by itself. Its Python processes are gone as well afterwards.
        """
        self._process.terminate()
        deadline = time.monotonic() + timeout
        while self.exit_code() is None and time.monotonic() < deadline and not at_once():
            time.sleep(POLL_SECONDS)
        stopped = self.exit_code() is not None
        self.kill()
        return stopped

    def kill(self) -> None:
        """End whatever is left of the server, and free its shared memory."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait(KILL_GRACE_SECONDS)
        for region in SHARED_MEMORY.glob(f"{self._prefix}*"):
            region.unlink(missing_ok=True)


def _die_with_parent() -> Callable[[], None]:
    # Loaded here: between fork and exec only the call itself is safe.
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    launcher = os.getpid()

    def set_death_signal() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != launcher:  # it died before the line above
            os._exit(1)

    return set_death_signal
