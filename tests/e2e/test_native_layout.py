"""The native layout on a real tritonserver: graphs as models of their own, called through BLS.

Its wheel lacks Triton's onnxruntime backend, so Python models stand in; everything else is as an
export writes it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bench.native.stand_in import let_python_stand_in
from bench.served.server import free_ports
from export.native.repository import with_parameter, write_native
from export.onnx_graphs import export_graphs
from serving.bundle import Bundle
from tests.e2e.launched import REPOSITORY, LaunchedServer, run_serve
from tests.e2e.test_in_flight import BAD, GOOD
from tests.parity.shipped import BUNDLE, torch_transformer

TEXTS = [
    "The children are playing in the garden.",
    "",
    "Where is the station?",
    "If it rains tomorrow, we will stay at home and read the books that you brought us.",
    "I don't know.",
] * 3
MODELS = ("encoder", "decoder_step")
FAILING_MODEL = Path(__file__).with_name("failing_model.py")


def copy_repository(folder: Path) -> Path:
    """The shipped repository, to be changed."""
    shutil.copytree(REPOSITORY, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def native_repository(folder: Path) -> Path:
    """The shipped model in the native layout."""
    copy_repository(folder)
    graphs = export_graphs(torch_transformer(Bundle.open(BUNDLE)))
    write_native(folder, graphs, "onnxruntime")
    return folder


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return native_repository(tmp_path_factory.mktemp("native") / "repository")


@pytest.fixture(scope="module")
def native(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LaunchedServer]:
    folder = tmp_path_factory.mktemp("served")
    served = folder / "repository"
    shutil.copytree(repository, served)
    let_python_stand_in(served)
    for name in MODELS:
        shutil.copyfile(FAILING_MODEL, served / name / "1/model.py")
    with LaunchedServer(served, folder / "server.log") as launched:
        yield launched
        assert launched.runs(), launched.output()


@pytest.mark.parametrize("options", [{}, {"beam_size": 1}, {"beam_size": 8, "n_best": 3}])
def test_translations_are_those_of_the_default_engine(
    native: LaunchedServer, server: LaunchedServer, options: dict[str, Any]
) -> None:
    answers = [one.generate(text=TEXTS, **options) for one in (native, server)]
    assert answers[0][0] == 200, answers[0]
    (_, found), (_, expected) = answers
    assert found["translation"] == expected["translation"]
    assert found["score"] == pytest.approx(expected["score"], abs=1e-4)


def test_the_graphs_are_models_of_the_server(native: LaunchedServer) -> None:
    before = [native.successes(name) for name in MODELS]
    native.translate(TEXTS[0])
    encodings, steps = (native.successes(name) - n for name, n in zip(MODELS, before, strict=True))
    assert encodings == 1
    assert steps > 5


def test_neighbours_do_not_change_an_answer(native: LaunchedServer) -> None:
    """Requests join and leave, and several workers call the models at a time."""
    alone = [native.generate(**keys)[1] for keys in GOOD]
    mixed = [*GOOD, *BAD] * 4
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda keys: native.generate(**keys), mixed))
    for index, (status, answer) in enumerate(answers):
        place = index % (len(GOOD) + len(BAD))
        assert status == (200 if place < len(GOOD) else 400), answer
        if place < len(GOOD):
            assert answer["translation"] == alone[place]["translation"]
            assert answer["score"] == pytest.approx(alone[place]["score"], abs=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_fails_fails_its_requests_alone(native: LaunchedServer, name: str) -> None:
    expected = native.translate(TEXTS[0])
    fail = native.repository / name / "1/fail"
    fail.touch()
    try:
        status, answer = native.generate(text=TEXTS[0])
    finally:
        fail.unlink()
    assert status == 400, "over HTTP, Triton knows no other"
    assert f"the model '{name}' failed: " in answer["error"]
    assert "no memory is left" in answer["error"]
    assert native.translate(TEXTS[0]) == expected
    assert native.is_ready()


def serve_briefly(repository: Path) -> str:
    """What `dragoman serve` says of a repository that cannot be served."""
    names = zip(("http", "grpc", "metrics"), free_ports(3), strict=True)
    result = run_serve(str(repository), *(f"--{name}-port={port}" for name, port in names))
    assert result.returncode == 2
    return result.stderr


def test_a_server_without_the_backend_says_so(repository: Path) -> None:
    assert "unable to find backend library for backend 'onnxruntime'" in serve_briefly(repository)


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("native", "the model 'encoder' failed: "),
        ("tpu", "engine must be one of onnxruntime, "),
    ],
)
def test_an_engine_that_cannot_be_had_is_told(tmp_path: Path, engine: str, message: str) -> None:
    config = copy_repository(tmp_path / "repository") / "translator/config.pbtxt"
    config.write_text(with_parameter(config.read_text(), "engine", engine))
    assert message in serve_briefly(tmp_path / "repository")
