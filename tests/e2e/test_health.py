"""`dragoman health` against a real server."""

from __future__ import annotations

import pytest

from serving import cli
from tests.e2e.launched import LaunchedServer


def test_a_server_that_translates_is_well(
    server: LaunchedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    before = server.successes("translate")
    assert cli.main(["health", "--http-port", str(server.http_port)]) == 0
    assert "is well" in capsys.readouterr().out
    assert server.successes("translate") == before + 1


def test_a_port_without_translations_is_not(
    server: LaunchedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["health", "--http-port", str(server.metrics_port)]) == 1
    assert "is not well: HTTP 4" in capsys.readouterr().out
