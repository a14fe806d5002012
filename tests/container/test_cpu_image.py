"""The image for CPUs under `docker run`: confined, stopped cleanly, and clear about faults."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.container.docker import CONFINED, Container, docker, post
from tests.e2e.launched import wait_until

MOST_MEGABYTES = 750
GRACE_SECONDS = 45
STAND_IN = """\
#!/bin/sh
# In place of dragoman: a compile that takes long.
echo "$@"
exec sleep 60
"""


@pytest.fixture(scope="module")
def server(cpu_image: str) -> Iterator[Container]:
    """A container that is ready."""
    with Container(cpu_image) as container:
        container.wait_for("ready after")
        yield container


def test_the_image_is_small_and_has_no_pytorch(
    cpu_image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    size = int(docker("image", "inspect", "--format", "{{.Size}}", cpu_image).stdout) / 1e6
    with capsys.disabled():
        print(f"\n{cpu_image}: {size:.0f} MB, its base included")
    assert size < MOST_MEGABYTES
    found = docker(
        "run", "--rm", "--entrypoint", "ls", cpu_image, "/opt/dragoman/lib/python3.11/site-packages"
    )
    packages = set(found.stdout.split())
    assert "serving" in packages
    assert not {"torch", "onnx", "pip", "setuptools"} & packages


def test_nothing_runs_as_root(server: Container) -> None:
    users = server.run("sh", "-c", "stat --format %u /proc/[0-9]*")
    assert set(users.split()) == {"10001"}


def test_it_translates_on_a_read_only_root(server: Container) -> None:
    assert server.run("touch", "/written", check=False).endswith("Read-only file system\n")
    status, answer = post(server.port(), {"text": "Good morning."})
    assert status == 200
    assert answer["translation"]


def test_a_person_can_ask_how_it_is(server: Container) -> None:
    assert "is well" in server.run("dragoman", "health")
    assert "is not well" in server.run("dragoman", "health", "--http-port", "1", check=False)


def test_orphans_are_reaped(server: Container) -> None:
    server.run("sh", "-c", "sleep 0.1 >/dev/null 2>&1 </dev/null &")
    time.sleep(0.5)
    states = server.run("sh", "-c", "cat /proc/[0-9]*/stat")
    assert "dumb-init" in states
    assert ") Z " not in states


def test_a_request_in_flight_is_answered_before_the_stop(cpu_image: str) -> None:
    texts = [f"There are {n} books on the table, and nobody reads them." for n in range(120)]
    answers: list[tuple[int, dict[str, Any]]] = []
    with Container(cpu_image) as container:
        container.wait_for("ready after")
        port = container.port()
        client = threading.Thread(target=lambda: answers.append(post(port, {"text": texts})))
        client.start()
        time.sleep(0.5)
        assert not answers, "the request must be under way when the stop comes"
        assert container.stop(GRACE_SECONDS) < GRACE_SECONDS
        client.join()
        state = container.state()
        assert "stopped" in container.log()
    assert (state["ExitCode"], state["OOMKilled"]) == (0, False)
    ((status, answer),) = answers
    assert status == 200
    assert len(answer["translation"]) == len(texts)


# The brackets keep grep and the shell from finding themselves.
KILL_TRANSLATOR = (
    "kill -KILL $(grep -l --text '[m]odels/translator/1/model.py' /proc/[0-9]*/cmdline"
    " | cut -d / -f 3)"
)


def test_a_model_that_dies_is_brought_back(server: Container) -> None:
    server.run("sh", "-c", KILL_TRANSLATOR)
    server.wait_for("translates again")
    assert "is well" in server.run("dragoman", "health")
    assert "started the server anew" not in server.log()


def test_a_server_that_gives_up_is_started_anew(cpu_image: str) -> None:
    arguments = ("--max-recoveries", "0")
    with Container(cpu_image, ("--restart", "unless-stopped"), arguments) as container:
        container.wait_for("ready after")
        container.run("sh", "-c", KILL_TRANSLATOR)
        container.wait_for("giving up")
        wait_until(lambda: container.log().count("ready after") == 2, "ready again")
        assert "is well" in container.run("dragoman", "health")


def test_a_stop_reaches_what_runs_before_the_server(cpu_image: str, tmp_path: Path) -> None:
    program = tmp_path / "dragoman"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    tmp_path.chmod(0o755)
    mounted = ("--volume", f"{program}:/opt/dragoman/bin/dragoman:ro")
    with Container(cpu_image, (*mounted, "--env", "DRAGOMAN_ENGINE=tensorrt")) as container:
        container.wait_for("compile /models --plans /plans")
        assert container.stop(GRACE_SECONDS) < 5
        assert "serve" not in container.log()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--shm-size", "16m"), "start it with --shm-size=1g (compose: shm_size: 1g)"),
        (("--env", "DRAGOMAN_ENGINE=tensorrt"), "cuda-bindings is not installed here"),
        (("--env", "DRAGOMAN_ENGINE=abacus"), "engine must be one of onnxruntime, tensorrt"),
        (("--env", "XDG_CACHE_HOME=/nowhere"), "/tmp/dragoman-10001 is mounted so that no program"),
        (("--tmpfs", "/models"), "it holds no model 'translate'"),
    ],
)
def test_a_start_that_cannot_work_says_why(
    cpu_image: str, options: tuple[str, ...], message: str
) -> None:
    done = docker("run", "--rm", *CONFINED, *options, cpu_image, check=False)
    assert done.returncode == 2
    assert "dragoman: error: " in done.stdout
    assert message in done.stdout
