"""The image for GPUs, built over a stand-in for NVIDIA's, which cannot be had everywhere.

The stand-in has the layout of NVIDIA's image and TensorRT's libraries without content. So this
proves the build, the choice of tritonserver and what happens where there is no GPU; not TensorRT.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.container.docker import BASE_IMAGE, CONFINED, ROOT, Container, docker, post
from tests.parity.tensorrt_stubs import LIBRARIES, make_stubs

STAND_IN = "dragoman-test:triton"
IMAGE = "dragoman-test:gpu"
TENSORRT = "11.4.0"
"""The version whose bindings this project's tests have."""


@pytest.fixture(scope="module")
def stand_in(cpu_image: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An image in the shape of NVIDIA's."""
    folder = tmp_path_factory.mktemp("triton")
    libraries = folder / "libraries"
    libraries.mkdir()
    make_stubs(libraries)
    (libraries / LIBRARIES[0]).rename(libraries / f"libnvinfer.so.{TENSORRT}")
    (libraries / LIBRARIES[0]).symlink_to(f"libnvinfer.so.{TENSORRT}")
    build(STAND_IN, ROOT / "tests/container/stand_in_triton/Dockerfile", folder, BASE_IMAGE)
    return STAND_IN


@pytest.fixture(scope="module")
def gpu_image(stand_in: str) -> str:
    """The image for GPUs over it."""
    log = build(IMAGE, ROOT / "docker/gpu.Dockerfile", ROOT, stand_in)
    assert f"TensorRT {TENSORRT}" in log
    return IMAGE


def build(tag: str, file: Path, context: Path, base: str) -> str:
    """Build an image; returns what the build printed."""
    options = ("--progress", "plain", "--build-arg", f"BASE_IMAGE={base}")
    return docker("build", "--tag", tag, "--file", str(file), *options, str(context)).stdout


def test_without_a_gpu_it_says_so_and_does_not_serve(gpu_image: str) -> None:
    done = docker("run", "--rm", *CONFINED, gpu_image, check=False)
    assert done.returncode == 2
    assert "a container sees it when it is started with --gpus all" in done.stdout
    assert "starting tritonserver" not in done.stdout


def test_the_named_fallback_serves_with_the_images_tritonserver(gpu_image: str) -> None:
    with Container(gpu_image, ("--env", "DRAGOMAN_FALLBACK=onnxruntime")) as container:
        container.wait_for("ready after")
        assert "DRAGOMAN_FALLBACK=onnxruntime will serve" in container.log()
        commands = container.run("sh", "-c", "cat /proc/[0-9]*/cmdline").replace("\0", " ")
        assert "/opt/tritonserver/bin/tritonserver --model-repository=/models" in commands
        assert "pytriton" not in commands
        assert post(container.port(), {"text": "Good morning."})[0] == 200


def test_an_image_without_tensorrt_is_refused(cpu_image: str) -> None:
    command = "/build/tensorrt-bindings.sh /opt/dragoman"
    mounted = ("--volume", f"{ROOT}/docker/tensorrt-bindings.sh:/build/tensorrt-bindings.sh:ro")
    done = docker(
        *("run", "--rm", *mounted, "--entrypoint", "sh", cpu_image, "-c", command), check=False
    )
    assert done.returncode == 1
    assert "no libnvinfer.so; choose another BASE_IMAGE" in done.stdout
