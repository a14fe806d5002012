"""An engine that fails on one sentence, or is stuck on one: what everybody else sees of it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.faulty_texts import POISON, STICK
from tests.e2e.launched import REPOSITORY, LaunchedServer, wait_until
from tests.e2e.traffic import SENTENCES, Traffic, offline_translations, report

STALL_SECONDS = 2
FAULTY = Path(__file__).with_name("faulty_translator.py")


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    return offline_translations()


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LaunchedServer]:
    folder = tmp_path_factory.mktemp("faulty")
    repository = folder / "repository"
    shutil.copytree(REPOSITORY, repository, ignore=shutil.ignore_patterns("__pycache__"))
    version = repository / "translator" / "1"
    (version / "model.py").rename(version / "shipped.py")
    shutil.copy(FAULTY, version / "model.py")
    stall = str(STALL_SECONDS)
    with LaunchedServer(repository, folder / "server.log", DRAGOMAN_STALL=stall) as launched:
        yield launched


def test_a_poisoned_request_fails_alone(faulty: LaunchedServer, expected: dict[str, str]) -> None:
    with Traffic(faulty, expected) as traffic:
        for texts in ([POISON], [*SENTENCES, POISON], [POISON, *SENTENCES]):
            status, answer = faulty.generate(text=texts)
            assert status == 400
            assert "internal error: ValueError: poisoned" in answer["error"]
            good = faulty.generate(text=SENTENCES)[1]["translation"]
            assert good == [expected[text] for text in SENTENCES]
    traffic.check()
    assert not traffic.errors
    report("poisoned request", traffic)


def test_a_stuck_engine_is_loaded_anew(faulty: LaunchedServer, expected: dict[str, str]) -> None:
    with Traffic(faulty, expected) as traffic:
        wait_until(lambda: len(traffic.seen) > 8, "traffic")
        began = time.monotonic()
        status, answer = faulty.generate(text=STICK)
        told = time.monotonic() - began
        assert status == 400
        assert "the engine is stuck" in answer["error"]
        assert STALL_SECONDS < told < STALL_SECONDS + 3
        wait_until(lambda: traffic.answered_since(began + told), "translations again")
        ready = time.monotonic() - began - told
    traffic.check()
    report("engine stuck", traffic, told_after_s=round(told, 2), ready_again_s=round(ready, 2))
