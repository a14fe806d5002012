"""What would stop a server from starting, found before it starts."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import socket
from pathlib import Path

from serving.errors import DragomanError
from serving.launcher.installation import Installation
from serving.launcher.settings import ServerSettings

ENSEMBLE = "translate"
SHARED_MEMORY = Path("/dev/shm")
MIN_SHARED_MEMORY_BYTES = 32 * 2**20
WHEEL_GLIBC = (2, 35)


def check_repository(repository: Path) -> None:
    """Raise DragomanError unless `repository` is a folder of models with a `translate` ensemble."""
    if not repository.is_dir():
        raise DragomanError(
            f"no model repository at {repository}; name the folder that holds the model "
            f"'{ENSEMBLE}': dragoman serve FOLDER"
        )
    if not (repository / ENSEMBLE / "config.pbtxt").is_file():
        raise DragomanError(
            f"{repository} is no Dragoman model repository: it holds no model "
            f"'{ENSEMBLE}' ({ENSEMBLE}/config.pbtxt is missing)"
        )


def resolve_host(host: str) -> str:
    """Return the IPv4 address of `host`; Triton's HTTP server takes no names.

    Raises:
        DragomanError: there is none.
    """
    try:
        return socket.gethostbyname(host)
    except OSError as error:
        raise DragomanError(f"--host {host}: no IPv4 address of that name ({error})") from error


def check_ports(settings: ServerSettings, address: str) -> None:
    """Raise DragomanError naming the first port that the server could not take on `address`."""
    used: dict[int, str] = {}
    for option, port in settings.ports.items():
        if not 1 <= port <= 65535:
            raise DragomanError(f"{option} must be from 1 to 65535, not {port}")
        if port in used:
            raise DragomanError(f"{option} and {used[port]} are both {port}; give each its own")
        used[port] = option
        _check_port(option, port, address)


def _check_port(option: str, port: int, address: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As the server does: a port that only waits for old connections to time out is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except PermissionError as error:
            raise DragomanError(
                f"port {port} may only be opened by root; choose another with {option}"
            ) from error
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise DragomanError(
                    f"cannot listen on {address} port {port} ({error.strerror}); "
                    "choose another address with --host"
                ) from error
            raise DragomanError(
                f"port {port} on {address} is in use by another program; "
                f"choose another with {option}"
            ) from error


def check_shared_memory(folder: Path = SHARED_MEMORY) -> None:
    """Raise DragomanError unless Triton's Python backend finds the shared memory it needs."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DragomanError(
            f"{folder} cannot be written, but the models exchange tensors through it; "
            "mount a tmpfs there"
        )
    free = shutil.disk_usage(folder).free
    if free < MIN_SHARED_MEMORY_BYTES:
        raise DragomanError(
            f"{folder} has {free // 2**20} MB free, but the models need "
            f"{MIN_SHARED_MEMORY_BYTES // 2**20} MB at least; in a container start it with "
            "--shm-size=1g (compose: shm_size: 1g)"
        )


def check_glibc(installation: Installation) -> None:
    """Raise DragomanError where the C library is older than the wheel's programs need."""
    name, version = platform.libc_ver()
    if installation.libraries is None or name != "glibc":
        return
    numbers = tuple(int(part) for part in version.split(".")[:2])
    if numbers < WHEEL_GLIBC:
        raise DragomanError(
            f"this system's glibc is {version}, but tritonserver needs "
            f"{'.'.join(map(str, WHEEL_GLIBC))} or newer (Debian 12, Ubuntu 22.04); "
            "serve from the container image instead"
        )
