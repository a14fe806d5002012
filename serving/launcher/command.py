"""The command line and the environment of a tritonserver."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import serving
from serving.launcher.installation import Installation
from serving.launcher.settings import ServerSettings

LOG_REQUESTS = "DRAGOMAN_LOG_REQUESTS"


def command_line(
    settings: ServerSettings,
    installation: Installation,
    backends: Path,
    address: str,
    shared_memory_prefix: str,
) -> list[str]:
    """Return the program and arguments that serve `settings.repository` on `address` (IPv4).

    Names of the models' shared memory regions begin with `shared_memory_prefix`.
    """
    return [
        str(installation.binary),
        f"--model-repository={settings.repository.resolve()}",
        f"--backend-directory={backends}",
        f"--backend-config=python,shm-region-prefix-name={shared_memory_prefix}",
        f"--http-address={address}",
        f"--http-port={settings.http_port}",
        f"--grpc-address={address}",
        f"--grpc-port={settings.grpc_port}",
        f"--metrics-address={address}",
        f"--metrics-port={settings.metrics_port}",
        f"--exit-timeout-secs={settings.exit_timeout}",
        f"--log-verbose={settings.log_verbose}",
    ]


def working_directory() -> Path:
    """Return the folder that holds `serving`, be it installed or a clone.

    The models' Python ignores PYTHONPATH, but looks for packages where the server was started.
    """
    return Path(serving.__file__).resolve().parent.parent


def environment(
    installation: Installation,
    backends: Path,
    inherited: Mapping[str, str],
    log_requests: bool = False,
) -> dict[str, str]:
    """Return `inherited` with what the server and its Python processes need to find their files.

    With `log_requests`, the models are told to note every request in the log.
    """
    result = dict(inherited)
    if log_requests:
        result[LOG_REQUESTS] = "1"
    # The stub starts the Python that it finds first on PATH, hence this one's packages.
    _prepend(result, "PATH", str(Path(sys.executable).parent))
    if installation.libraries is not None:
        libraries = f"{backends / 'python'}{os.pathsep}{installation.libraries}"
        _prepend(result, "LD_LIBRARY_PATH", libraries)
    return result


def _prepend(variables: dict[str, str], name: str, value: str) -> None:
    present = variables.get(name)
    variables[name] = f"{value}{os.pathsep}{present}" if present else value
