"""One real tritonserver for all end-to-end tests, started by the launcher."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from serving.errors import DragomanError
from serving.launcher.installation import find_installation
from tests.e2e.launched import REPOSITORY, LaunchedServer


@pytest.fixture(scope="session", autouse=True)
def tritonserver_is_installed() -> None:
    """Skip where there is no tritonserver at all."""
    try:
        find_installation()
    except DragomanError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LaunchedServer]:
    """The shipped model, served. Tests share it, and so must leave it well."""
    log = tmp_path_factory.mktemp("server") / "server.log"
    with LaunchedServer(REPOSITORY, log) as launched:
        yield launched
        assert launched.runs(), launched.output()
