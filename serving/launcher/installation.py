"""Where the files of a tritonserver lie on this machine."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from serving.errors import DragomanError

PYTHON_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
STUB_NAME = "triton_python_backend_stub"
WHEEL_DISTRIBUTION = "nvidia-pytriton"
WHEEL_PACKAGE = "pytriton"
NOT_FOUND = (
    "no tritonserver on this machine; install it with: pip install 'dragoman[serving]' "
    "(or name one with --tritonserver PATH)"
)


@dataclass(frozen=True)
class Installation:
    """The files of one tritonserver.

    `backends` holds one folder per backend. `stub` is the program that runs a Python model under
    the running Python version, and `libraries` the folder of shared objects that both need (None
    where the system holds them). `version` tells installations at one place apart.
    """

    binary: Path
    backends: Path
    stub: Path
    libraries: Path | None
    version: str

    @property
    def has_own_stub(self) -> bool:
        """Whether the Python backend's folder already holds the stub to use."""
        return self.stub.parent == self.backends / "python"


def find_installation(given: Path | None = None) -> Installation:
    """Return the tritonserver at `given`, else the installed wheel's, else the one on PATH.

    Raises:
        DragomanError: there is none, or it cannot run this Python's models.
    """
    if given is not None:
        return _installation_at(_binary_at(given))
    wheel = importlib.util.find_spec(WHEEL_PACKAGE)
    if wheel is not None and wheel.submodule_search_locations:
        binary = Path(wheel.submodule_search_locations[0]) / "tritonserver/bin/tritonserver"
        if binary.is_file():
            return _installation_at(binary)
    on_path = shutil.which("tritonserver")
    if on_path is None:
        raise DragomanError(NOT_FOUND)
    return _installation_at(Path(on_path).resolve())


def _binary_at(given: Path) -> Path:
    candidates = (
        [given] if given.is_file() else [given / "bin/tritonserver", given / "tritonserver"]
    )
    for candidate in candidates:
        if candidate.is_file():
            return candidate.resolve()
    raise DragomanError(f"--tritonserver {given}: no tritonserver program there")


def _installation_at(binary: Path) -> Installation:
    root = binary.parent.parent
    stubs = root / "python_backend_stubs"
    backends = root / "backends"
    if not (backends / "python").is_dir():
        raise DragomanError(f"{binary} has no Python backend: {backends / 'python'} is missing")
    if stubs.is_dir():
        libraries = root.parent.parent / "nvidia_pytriton.libs"
        return Installation(binary, backends, _stub_among(stubs), libraries, _wheel_version(binary))
    stub = backends / "python" / STUB_NAME
    _check_stub_python(stub)
    return Installation(binary, backends, stub, None, "system")


def _stub_among(stubs: Path) -> Path:
    stub = stubs / PYTHON_VERSION / STUB_NAME
    if stub.is_file():
        return stub
    supported = sorted(
        (path.parent.name for path in stubs.glob(f"*/{STUB_NAME}")),
        key=lambda name: [int(part) for part in name.split(".")],
    )
    raise DragomanError(
        f"this tritonserver cannot run models under Python {PYTHON_VERSION}; "
        f"install Dragoman under one of Python {', '.join(supported)}"
    )


def _check_stub_python(stub: Path) -> None:
    if not stub.is_file():
        raise DragomanError(f"this tritonserver's Python backend is incomplete: no {stub}")
    linked = re.search(rb"libpython(\d+\.\d+)\.so", stub.read_bytes())
    if linked is not None and linked.group(1).decode() != PYTHON_VERSION:
        raise DragomanError(
            f"this tritonserver runs models under Python {linked.group(1).decode()}, but Dragoman "
            f"runs under {PYTHON_VERSION}; install Dragoman under Python {linked.group(1).decode()}"
        )


def _wheel_version(binary: Path) -> str:
    try:
        return importlib.metadata.version(WHEEL_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return f"{binary.stat().st_mtime_ns}"
