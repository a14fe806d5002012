"""The same client for asyncio: nothing blocks, and a task that is cancelled ends its calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Self, Unpack

import grpc
import grpc.aio
from tritonclient.grpc import service_pb2_grpc

from serving.client.attempts import Attempts
from serving.client.calls import (
    CHANNEL_OPTIONS,
    CHECK_SECONDS,
    DEFAULT_ADDRESS,
    DEFAULT_PATIENCE,
    DEFAULT_TIMEOUT,
    IN_FLIGHT,
    check_ready,
    groups_of,
    options_of,
    ready_request,
)
from serving.client.errors import ClosedError, error_of, error_of_call
from serving.client.request import MODEL, STREAM_MODEL, infer_request
from serving.client.results import Part, Result, is_last, part_of, results_of
from serving.errors import DragomanError
from serving.request_options import Options, OptionValues


class AsyncClient:
    """Asks a running server for translations, over gRPC; belongs to one event loop.

    async with AsyncClient("localhost:8001") as client:
        print((await client.translate("Good morning.")).translation)
    """

    def __init__(
        self,
        address: str = DEFAULT_ADDRESS,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        patience: float = DEFAULT_PATIENCE,
        model: str = MODEL,
        stream_model: str = STREAM_MODEL,
    ) -> None:
        """Connect lazily; the arguments are those of `Client`."""
        self._address = address
        self._timeout, self._patience = timeout, patience
        self._model, self._stream_model = model, stream_model
        self._channel: grpc.aio.Channel | None = None
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End what is under way with a ClosedError."""
        self._is_closed = True
        if self._channel is not None:
            await self._channel.close()

    async def check(self) -> None:
        """Return if the server can be reached and translates; see `Client.check`."""
        response = await self._answer("ModelReady", ready_request(self._model), CHECK_SECONDS)
        check_ready(self._address, self._model, response)

    async def translate(
        self,
        text: str,
        *,
        timeout: float | None = None,
        options: Options | None = None,
        **values: Unpack[OptionValues],
    ) -> Result:
        """Translate one text; see `Client.translate`."""
        chosen = options_of(options, dict(values))
        (group,) = groups_of([text])
        (result,) = await self._group(group, chosen, timeout)
        return result

    async def translate_many(
        self,
        texts: Sequence[str],
        *,
        on_done: Callable[[int], object] | None = None,
        timeout: float | None = None,
        options: Options | None = None,
        **values: Unpack[OptionValues],
    ) -> list[Result]:
        """Translate any number of texts in their order; see `Client.translate_many`."""
        chosen = options_of(options, dict(values))
        groups = groups_of(texts)
        found: list[list[Result]] = [[] for _ in groups]
        waiting = iter(enumerate(groups))

        async def work() -> None:
            for number, group in waiting:
                found[number] = await self._group(group, chosen, timeout)
                if on_done:
                    on_done(len(group))

        workers = [asyncio.ensure_future(work()) for _ in groups[:IN_FLIGHT]]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return [result for results in found for result in results]

    def stream(
        self,
        text: str,
        *,
        timeout: float | None = None,
        options: Options | None = None,
        **values: Unpack[OptionValues],
    ) -> AsyncIterator[Part]:
        """Translate one text and give each sentence as soon as it is there.

        See `Client.stream`. Cancelling the task, or `aclose` of the iterator, frees the server's
        work.
        """
        chosen = options_of(options, dict(values))
        groups_of([text])
        return self._parts(text, chosen, self._attempts(timeout))

    async def _parts(self, text: str, options: Options, attempts: Attempts) -> AsyncIterator[Part]:
        begun = False
        while True:
            seconds = attempts.left()
            request = infer_request(self._stream_model, [text], options, seconds)
            call = self._stub().ModelStreamInfer(iter([request]), timeout=seconds)
            try:
                async for response in call:
                    if response.error_message:
                        raise error_of(self._address, None, response.error_message)
                    if response.infer_response.outputs:
                        begun = True
                        yield part_of(response.infer_response)
                    if is_last(response.infer_response):
                        return
                return
            except (grpc.RpcError, DragomanError, asyncio.CancelledError) as error:
                fault = self._fault(error)
            finally:
                call.cancel()
            if begun:  # what was given cannot be taken back
                raise fault
            await asyncio.sleep(attempts.pause(fault))

    async def _group(
        self, texts: Sequence[str], options: Options, timeout: float | None
    ) -> list[Result]:
        attempts = self._attempts(timeout)
        while True:
            seconds = attempts.left()
            request = infer_request(self._model, texts, options, seconds)
            try:
                response = await self._answer("ModelInfer", request, seconds)
                return results_of(response, len(texts))
            except DragomanError as error:
                pause = attempts.pause(error)
            await asyncio.sleep(pause)

    def _attempts(self, timeout: float | None) -> Attempts:
        return Attempts(self._timeout if timeout is None else timeout, self._patience)

    async def _answer(self, method: str, request: Any, seconds: float) -> Any:
        try:
            return await getattr(self._stub(), method)(request, timeout=seconds)
        except (grpc.RpcError, asyncio.CancelledError) as error:
            raise self._fault(error) from None

    def _stub(self) -> Any:
        if self._is_closed:
            raise self._closed()
        if self._channel is None:  # here an event loop runs, to which the channel belongs
            self._channel = grpc.aio.insecure_channel(self._address, options=CHANNEL_OPTIONS)
        return service_pb2_grpc.GRPCInferenceServiceStub(self._channel)

    def _fault(self, error: Any) -> DragomanError:
        """The error to raise; a task's own cancellation is raised here."""
        if isinstance(error, DragomanError):
            return error
        if self._is_closed:  # gRPC ends the calls of a closed channel as if it were that
            return self._closed()
        if isinstance(error, asyncio.CancelledError):
            raise error
        return error_of_call(self._address, error)

    def _closed(self) -> ClosedError:
        return ClosedError(f"{self._address}: the client was closed")
