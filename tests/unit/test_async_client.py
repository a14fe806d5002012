"""The client for asyncio, against the same server as the other one."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import grpc
import pytest

from serving.client import (
    AsyncClient,
    ClosedError,
    DeadlineError,
    NotReadyError,
    OverloadError,
    RequestError,
    Result,
)
from tests.unit.triton_double import (
    OVERLOADED,
    TritonDouble,
    part,
    refuses,
    serving,
    stream_of,
    upper_case,
)


@contextlib.asynccontextmanager
async def opened(triton: TritonDouble) -> AsyncIterator[AsyncClient]:
    with serving(triton) as address:
        async with AsyncClient(address, timeout=20, patience=3) as client:
            yield client


def against(triton: TritonDouble, work: Callable[[AsyncClient], Coroutine[Any, Any, None]]) -> None:
    """Run `work` with a client of a server."""

    async def run() -> None:
        async with opened(triton) as client:
            await work(client)

    asyncio.run(run())


async def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.005)


def test_texts_become_results_in_their_order() -> None:
    triton = TritonDouble()
    triton.script = [OVERLOADED, OVERLOADED]

    async def work(client: AsyncClient) -> None:
        await client.check()
        assert await client.translate("one", n_best=1) == Result("ONE", 0.0)
        done: list[int] = []
        found = await client.translate_many([f"text {n}" for n in range(500)], on_done=done.append)
        assert [result.translation for result in found] == [f"TEXT {n}" for n in range(500)]
        assert sum(done) == 500
        assert await client.translate_many([]) == []

    against(triton, work)
    assert len(triton.asked) == 3 + 32


def test_errors_are_those_of_the_other_client() -> None:
    triton = TritonDouble()
    triton.ready = False
    bad = refuses(grpc.StatusCode.INVALID_ARGUMENT, "too long")
    triton.script = [bad, triton.waits, *[OVERLOADED] * 20]

    async def work(client: AsyncClient) -> None:
        with pytest.raises(NotReadyError):
            await client.check()
        with pytest.raises(RequestError, match="unknown option 'beam'"):
            await client.translate("one", beam=1)  # type: ignore[call-arg]
        with pytest.raises(RequestError, match="too long"):
            await client.translate("one")
        with pytest.raises(DeadlineError):
            await client.translate("one", timeout=0.2)
        with pytest.raises(OverloadError):
            await client.translate("one", timeout=0.5)

    against(triton, work)


def test_one_bad_text_ends_all_its_company() -> None:
    triton = TritonDouble()
    bad = refuses(grpc.StatusCode.INVALID_ARGUMENT, "too long")
    triton.script = [upper_case, bad] + [triton.waits] * 50

    async def work(client: AsyncClient) -> None:
        with pytest.raises(RequestError, match="too long"):
            await client.translate_many(["text"] * 500)
        await until(triton.is_idle)

    against(triton, work)


def test_a_cancelled_task_ends_the_servers_work() -> None:
    triton = TritonDouble()
    triton.script = [triton.waits] * 3 + [stream_of(part("a b", 0), triton.waits)]

    async def first_part(client: AsyncClient) -> None:
        async for each in client.stream("a b"):
            assert each.index == 0

    async def work(client: AsyncClient) -> None:
        for count, waiting in (
            (1, client.translate("one")),
            (3, client.translate_many(["text"] * 32)),
            (4, first_part(client)),
        ):
            task = asyncio.ensure_future(waiting)
            await until(lambda count=count: len(triton.asked) == count)  # type: ignore[misc]
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(triton.is_idle)

    against(triton, work)


def test_closing_ends_what_waits() -> None:
    triton = TritonDouble()
    triton.script = [triton.waits, stream_of(part("a b", 0), triton.waits)]

    async def collect(client: AsyncClient) -> list[Any]:
        return [each async for each in client.stream("a b")]

    async def work(client: AsyncClient) -> None:
        waiting = asyncio.ensure_future(client.translate("one"))
        await until(lambda: len(triton.asked) == 1)
        streaming = asyncio.ensure_future(collect(client))
        await until(lambda: len(triton.asked) == 2)
        await asyncio.sleep(0.05)
        await client.close()
        for task in (waiting, streaming):
            with pytest.raises(ClosedError):
                await task
        with pytest.raises(ClosedError):
            await client.translate("one")
        await until(triton.is_idle)

    against(triton, work)


def test_parts_come_one_by_one_and_a_refused_stream_is_tried_again() -> None:
    triton = TritonDouble()
    triton.script = [
        stream_of(OVERLOADED),
        stream_of("overloaded: try again"),
        upper_case,
        stream_of(part("a b", 0), "overloaded: try again"),
    ]

    async def work(client: AsyncClient) -> None:
        assert "".join([each.text async for each in client.stream("a b c")]) == "A B C"
        stream = client.stream("a b")
        assert (await anext(stream)).translation == "A"
        with pytest.raises(OverloadError):
            await anext(stream)

    against(triton, work)
    assert len(triton.asked) == 4


def test_leaving_a_stream_ends_the_servers_work() -> None:
    triton = TritonDouble()
    triton.script = [stream_of(part("a b", 0), triton.waits)]

    async def work(client: AsyncClient) -> None:
        async for each in client.stream("a b"):
            assert each.index == 0
            break
        await until(triton.cancelled.is_set)
        await until(triton.is_idle)

    against(triton, work)
