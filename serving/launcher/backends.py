"""The folder of backends that a server is pointed to, in this user's cache."""

from __future__ import annotations

import ctypes.util
import hashlib
import os
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

from serving.errors import DragomanError
from serving.launcher.installation import PYTHON_VERSION, STUB_NAME, Installation

PYTHON_LIBRARY = f"libpython{PYTHON_VERSION}.so.1.0"
LINKED_FILES = ("libtriton_python.so", "triton_python_backend_utils.py")


def backend_directory(installation: Installation) -> Path:
    """Return a folder of backends whose Python backend runs under the running Python.

    The wheel keeps its stubs apart from its backend, and its folder may be read-only, so the
    files meet in a folder of our own.

    Raises:
        DragomanError: no folder can be written, or this Python has no shared library.
    """
    if installation.has_own_stub:
        return installation.backends
    identity = f"{installation.binary} {installation.version} {sys.base_prefix} {PYTHON_VERSION}"
    name = f"backends-{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
    failures = []
    for parent in _cache_folders():
        try:
            return _laid_out(installation, parent / name)
        except OSError as error:
            failures.append(str(error))
    raise DragomanError(
        "no folder to lay out Triton's Python backend in; set XDG_CACHE_HOME to a folder that "
        f"can be written ({'; '.join(failures)})"
    )


def _cache_folders() -> list[Path]:
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    shared = Path(tempfile.gettempdir()) / f"dragoman-{os.getuid()}"
    return [Path(home) / "dragoman", shared]


def _laid_out(installation: Installation, target: Path) -> Path:
    if _is_complete(target):
        return target
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _check_owner(target.parent)
    draft = Path(tempfile.mkdtemp(dir=target.parent, prefix="draft-"))
    try:
        _fill(installation, draft / "python")
        shutil.rmtree(target, ignore_errors=True)
        try:
            draft.rename(target)
        except OSError:
            # Another launcher may have been first; its folder serves as well.
            if not _is_complete(target):
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


def _check_owner(folder: Path) -> None:
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user")


def _fill(installation: Installation, folder: Path) -> None:
    folder.mkdir()
    for name in LINKED_FILES:
        (folder / name).symlink_to(installation.backends / "python" / name)
    shutil.copyfile(installation.stub, folder / STUB_NAME)
    # An installer may drop the executable bit; a copy lets us set it.
    (folder / STUB_NAME).chmod(0o755)
    # Triton would wait for ever for a stub that cannot start.
    if not os.access(folder / STUB_NAME, os.X_OK):
        raise PermissionError(f"{folder.parent.parent} is mounted so that no program runs there")
    library = _python_library()
    if library is not None:
        (folder / PYTHON_LIBRARY).symlink_to(library)


def _is_complete(target: Path) -> bool:
    return all((target / "python" / name).exists() for name in (*LINKED_FILES, STUB_NAME))


def _python_library() -> Path | None:
    """Return the running Python's shared library; None to leave the choice to the system."""
    folders = [sysconfig.get_config_var("LIBDIR"), f"{sys.base_prefix}/lib"]
    for folder in folders:
        if folder and (Path(folder) / PYTHON_LIBRARY).is_file():
            return Path(folder) / PYTHON_LIBRARY
    if ctypes.util.find_library(f"python{PYTHON_VERSION}") is None:
        raise DragomanError(
            f"this Python has no shared library {PYTHON_LIBRARY}, which Triton's Python backend "
            f"needs; install it (Debian: libpython{PYTHON_VERSION}) or use a Python built with it"
        )
    return None
