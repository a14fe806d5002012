"""Texts to a server's `translate`, over gRPC or HTTP, on the running event loop."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import tritonclient.grpc.aio as grpc
import tritonclient.http.aio as http
from tritonclient.utils import triton_to_np_dtype

from serving.client.request import MODEL
from serving.load.failures import DifferentTranslationError
from serving.load.requests import TextRequest
from serving.options import INPUT_TYPES
from serving.request_options import Options

OUTPUT = "translation"


class Protocol(enum.StrEnum):
    """How requests reach the server."""

    GRPC = "grpc"
    HTTP = "http"


class Sender:
    """Sends one request after the other or many at a time; make it where the event loop runs."""

    def __init__(self, protocol: Protocol, address: str, options: Options, timeout: float) -> None:
        """Connect lazily.

        Args:
            protocol: of the address.
            address: host:port.
            options: of every request.
            timeout: seconds that a request may take.
        """
        self._client: Any
        self._arguments: dict[str, Any] = {}
        if protocol is Protocol.GRPC:
            self._triton: Any = grpc
            self._client = grpc.InferenceServerClient(address)
            self._arguments["client_timeout"] = timeout
        else:
            self._triton = http
            # No limit: a request that waited for a connection here would not be under way.
            self._client = http.InferenceServerClient(address, conn_limit=0, conn_timeout=timeout)
        self._options = _option_inputs(self._triton, options)
        self._outputs = [self._triton.InferRequestedOutput(OUTPUT)]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def translate(self, texts: Sequence[str]) -> list[str]:
        """The translations; raises what the client raises."""
        values = np.array([text.encode("utf-8") for text in texts], dtype=np.object_)
        tensor = self._triton.InferInput("text", [len(texts)], "BYTES")
        tensor.set_data_from_numpy(values)
        result = await self._client.infer(
            MODEL, [tensor, *self._options], outputs=self._outputs, **self._arguments
        )
        return [value.decode("utf-8") for value in result.as_numpy(OUTPUT)]

    async def send(self, request: TextRequest) -> None:
        """Translate and compare.

        Raises:
            DifferentTranslationError: a translation is not the expected one.
            Exception: whatever the client raises.
        """
        found = await self.translate(request.texts)
        if request.expected is None or tuple(found) == request.expected:
            return
        for text, translation, expected in zip(request.texts, found, request.expected, strict=True):
            if translation != expected:
                raise DifferentTranslationError(
                    f"{text!r} became {translation!r} instead of {expected!r}"
                )


def _option_inputs(triton: Any, options: Options) -> list[Any]:
    """The options as inputs of a request; `triton` is one of the `tritonclient` modules."""
    tensors = []
    for name, type_name in INPUT_TYPES.items():
        tensors.append(triton.InferInput(name, [1], type_name))
        value = np.array([getattr(options, name)], dtype=triton_to_np_dtype(type_name))
        tensors[-1].set_data_from_numpy(value)
    return tensors
