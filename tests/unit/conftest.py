"""Fixtures of the unit tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # other tests need not wait for gRPC
    from serving.client import Client
    from tests.unit.triton_double import TritonDouble


@pytest.fixture(scope="module")
def quick_writes() -> Iterator[None]:
    """A file of a few bytes need not reach the disk before a test goes on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture
def triton() -> TritonDouble:
    """A server with a script, not yet serving."""
    from tests.unit.triton_double import TritonDouble

    return TritonDouble()


@pytest.fixture
def client(triton: TritonDouble) -> Iterator[Client]:
    """A client of that server, which serves."""
    from serving.client import Client
    from tests.unit.triton_double import serving

    with serving(triton) as address, Client(address, timeout=20, patience=3) as client:
        yield client
