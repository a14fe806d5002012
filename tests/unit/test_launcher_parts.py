"""The launcher's parts, on files of our own: no tritonserver runs here."""

from __future__ import annotations

import io
import os
import signal
import sys
from pathlib import Path

import pytest

from serving.errors import DragomanError
from serving.launcher import preflight
from serving.launcher.backends import backend_directory
from serving.launcher.command import command_line, environment, working_directory
from serving.launcher.installation import PYTHON_VERSION, STUB_NAME, find_installation
from serving.launcher.journal import Journal
from serving.launcher.log import ServerLog
from serving.launcher.settings import ServerSettings
from serving.launcher.signals import StopSignals


def wheel(root: Path, *versions: str) -> Path:
    """A tritonserver laid out as in the wheel, with stubs for these Python versions."""
    folder = root / "pytriton/tritonserver"
    files = ["bin/tritonserver", "backends/python/libtriton_python.so"]
    files += ["backends/python/triton_python_backend_utils.py"]
    files += [f"python_backend_stubs/{version}/{STUB_NAME}" for version in versions]
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def test_backends_meet_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    installation = find_installation(wheel(tmp_path, PYTHON_VERSION, "3.8"))
    backends = backend_directory(installation)
    assert backends.is_relative_to(tmp_path / "cache/dragoman")
    stub = backends / "python" / STUB_NAME
    assert os.access(stub, os.X_OK)
    assert stub.read_text().endswith(f"{PYTHON_VERSION}/{STUB_NAME}")
    assert (backends / "python/libtriton_python.so").is_symlink()
    assert backend_directory(installation) == backends


def test_an_unusable_cache_has_a_substitute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    backends = backend_directory(find_installation(wheel(tmp_path, PYTHON_VERSION)))
    assert backends.is_relative_to(tmp_path)


def test_a_missing_stub_names_the_supported_pythons(tmp_path: Path) -> None:
    with pytest.raises(DragomanError, match=r"one of Python 3\.8, 3\.9, 3\.99$"):
        find_installation(wheel(tmp_path, "3.99", "3.9", "3.8"))


def test_a_missing_tritonserver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(DragomanError, match=r"pip install 'dragoman\[serving\]'"):
        find_installation()


def test_a_system_installation_must_fit_this_python(tmp_path: Path) -> None:
    folder = wheel(tmp_path)
    stub = folder / "backends/python" / STUB_NAME
    stub.write_bytes(f"\0libpython{PYTHON_VERSION}.so.1.0\0".encode())
    installation = find_installation(folder)
    assert backend_directory(installation) == folder / "backends"
    stub.write_bytes(b"\0libpython3.99.so.1.0\0")
    with pytest.raises(DragomanError, match=r"under Python 3\.99"):
        find_installation(folder)


def test_the_models_find_this_python_and_package(tmp_path: Path) -> None:
    installation = find_installation(wheel(tmp_path, PYTHON_VERSION))
    result = environment(installation, tmp_path, {"PATH": "/bin", "LANG": "C.UTF-8"})
    assert result["PATH"].split(":") == [str(Path(sys.executable).parent), "/bin"]
    assert (working_directory() / "serving/launcher").is_dir()
    assert str(tmp_path / "nvidia_pytriton.libs") in result["LD_LIBRARY_PATH"].split(":")
    assert result["LANG"] == "C.UTF-8"


def test_every_listener_gets_the_chosen_address(tmp_path: Path) -> None:
    installation = find_installation(wheel(tmp_path, PYTHON_VERSION))
    settings = ServerSettings(tmp_path, http_port=1, grpc_port=2, metrics_port=3)
    command = command_line(settings, installation, tmp_path, "127.0.0.1", "prefix")
    for name, port in (("http", 1), ("grpc", 2), ("metrics", 3)):
        assert f"--{name}-address=127.0.0.1" in command
        assert f"--{name}-port={port}" in command


def test_too_little_shared_memory_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "MIN_SHARED_MEMORY_BYTES", 2**60)
    with pytest.raises(DragomanError, match=r"--shm-size=1g \(compose: shm_size: 1g\)"):
        preflight.check_shared_memory(tmp_path)
    with pytest.raises(DragomanError, match="cannot be written"):
        preflight.check_shared_memory(tmp_path / "missing")


def test_the_reason_is_the_fault_not_its_echoes() -> None:
    log = ServerLog(Journal())
    fault = r"""version 1: Internal: ConfigError: no \"x\"\n\nAt:\n  file(1)\n" """
    lines = ["I1129 start", "E1129 something else", "| table |"]
    lines += [f"E1129 \"failed to load '{name}' {fault}" for name in ("b", "a", "b")]
    log.follow(io.StringIO("\n".join(lines)))
    assert log.reason() == '  a, b: no "x"'
    log.close()


def test_the_whole_log_goes_to_the_file(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "log")
    log = ServerLog(journal)
    log.follow(io.StringIO("I1129 a\nE1129 b\n"))
    log.close()
    journal.close()
    assert (tmp_path / "log").read_text() == "I1129 a\nE1129 b\n"


def test_signals_are_counted_and_an_ignored_one_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals() as signals:
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
        assert signals.count == 2
    finally:
        signal.signal(signal.SIGHUP, before)
