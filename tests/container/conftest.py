"""Images, built once for all tests; without a Docker engine everything here is skipped."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.container.docker import BASE_IMAGE, CPU_IMAGE, docker


@pytest.fixture(scope="session", autouse=True)
def engine() -> None:
    """Skip where no Docker engine answers."""
    if shutil.which("docker") is None:
        pytest.skip("docker is not installed; .ci/containers runs these tests with an engine")
    done = subprocess.run(["docker", "version"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("no Docker engine can be reached; .ci/containers brings one")
    if (
        not docker("image", "ls", "--quiet", BASE_IMAGE).stdout
        and docker("pull", "--quiet", BASE_IMAGE, check=False).returncode
    ):
        pytest.skip(f"the image {BASE_IMAGE} cannot be had here")


@pytest.fixture(scope="session")
def cpu_image(engine: None) -> str:
    """The image for CPUs, as docker-compose.yml builds it."""
    docker("compose", "build", "translator")
    return CPU_IMAGE
