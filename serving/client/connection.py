"""A channel to a server whose calls fail with errors of ours."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import grpc
from tritonclient.grpc import service_pb2_grpc

from serving.client.calls import CHANNEL_OPTIONS
from serving.client.errors import ClosedError, error_of, error_of_call
from serving.client.results import is_last


class Connection:
    """Opens at the first call; threads may share it.

    It speaks Triton's protocol itself: the client of `tritonclient` has one stream at a time, does
    not notice one that ends early, and its requests of several threads can lose their answers.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._channel = grpc.insecure_channel(address, options=CHANNEL_OPTIONS)
        self._stub = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)
        self._closed = threading.Event()
        # Calls begin in a thread of their own, which Ctrl-C does not interrupt: a channel that was
        # interrupted before it began to watch its first call waits for that call without end.
        self._beginner = ThreadPoolExecutor(1, thread_name_prefix="calls")

    def close(self) -> None:
        """End every call with a ClosedError."""
        self._closed.set()
        self._beginner.shutdown()
        self._channel.close()

    def start(self, method: str, request: Any, seconds: float) -> Any:
        """Start a call that has one answer; `answer` waits for it."""
        return self._begin(getattr(self._stub, method).future, request, timeout=seconds)

    def answer(self, call: Any) -> Any:
        """Wait for the answer of a call.

        Raises:
            DragomanError: it failed.
        """
        try:
            return call.result()
        except grpc.RpcError as error:
            self.rest(0)
            raise error_of_call(self.address, error) from None

    def stream(self, request: Any, seconds: float) -> Iterator[Any]:
        """The answers of a decoupled model; closing the iterator ends its work.

        Raises:
            DragomanError: the call failed, at first or further on.
        """
        # Not with the header triton_grpc_error, for errors with a status: Triton 2.51 dies of it.
        call = self._begin(self._stub.ModelStreamInfer, iter([request]), timeout=seconds)
        try:
            for response in call:
                if response.error_message:
                    raise error_of(self.address, None, response.error_message)
                if response.infer_response.outputs:
                    yield response.infer_response
                if is_last(response.infer_response):
                    return
        except grpc.RpcError as error:
            self.rest(0)
            raise error_of_call(self.address, error) from None
        finally:
            call.cancel()

    def rest(self, seconds: float) -> None:
        """Wait.

        Raises:
            ClosedError: the connection was closed.
        """
        if self._closed.wait(seconds):
            raise ClosedError(f"{self.address}: the client was closed")

    def _begin(self, method: Any, request: Any, **arguments: Any) -> Any:
        self.rest(0)
        try:
            begun = self._beginner.submit(method, request, **arguments)
        except RuntimeError:  # another thread has closed the connection just now
            raise ClosedError(f"{self.address}: the client was closed") from None
        try:
            return begun.result()
        except BaseException:
            begun.add_done_callback(_give_up)
            raise


def _give_up(begun: Future[Any]) -> None:
    """Cancel the call that nobody waits for any more."""
    if not begun.cancelled() and begun.exception() is None:
        begun.result().cancel()
