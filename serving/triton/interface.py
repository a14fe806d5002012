"""The part of Triton's Python interface that we use, as types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Int32s = NDArray[np.int32]


class InputTensor(Protocol):
    """One named array of a request."""

    def as_numpy(self) -> Array:
        """The array; texts are objects of type bytes."""
        ...


class Sender(Protocol):
    """Where the answer to one request goes, from any thread."""

    def send(self, response: Any, flags: int) -> None:
        """Send a response; `flags` tells whether it is the last."""
        ...


class ResponseSender(Sender, Protocol):
    """Triton's; a decoupled model's takes any number of responses, or flags alone."""

    def send(self, response: Any = None, flags: int = 0) -> None:
        """Send a response, the end, or both."""
        ...

    def is_cancelled(self) -> bool:
        """Whether the client gave up: over gRPC, and where it asked this model itself."""
        ...


class Request(Protocol):
    """One request to a model."""

    def parameters(self) -> str:
        """The request's parameters, as a JSON object."""
        ...

    def request_id(self) -> str:
        """The client's name for the request, or an empty string."""
        ...

    def timeout(self) -> int:
        """Microseconds that the client allows, 0 where it does not say."""
        ...

    def get_response_sender(self) -> ResponseSender:
        """Where to answer later than `execute` returns."""
        ...


class Triton(Protocol):
    """The module `triton_python_backend_utils`."""

    TRITONSERVER_RESPONSE_COMPLETE_FINAL: int
    TRITONSERVER_MEMORY_CPU: Any

    @property
    def Tensor(self) -> Callable[[str, Array], Any]:  # noqa: N802
        """Make a tensor of a name and an array."""
        ...

    @property
    def InferenceResponse(self) -> Callable[..., Any]:  # noqa: N802
        """Make a response of `output_tensors` and `error`."""
        ...

    @property
    def InferenceRequest(self) -> Callable[..., Any]:  # noqa: N802
        """Make a request to another model of this server."""
        ...

    @property
    def PreferredMemory(self) -> Callable[..., Any]:  # noqa: N802
        """Say where the outputs of such a request shall lie."""
        ...

    @property
    def TritonError(self) -> Any:  # noqa: N802
        """Make an error of a message and a code; holds the codes."""
        ...

    @property
    def MetricFamily(self) -> Any:  # noqa: N802
        """Make a family of metrics of a `name`, a `description` and a `kind`; holds the kinds."""
        ...

    @property
    def Logger(self) -> Any:  # noqa: N802
        """Write to the server's log."""
        ...

    def get_input_tensor_by_name(self, request: Any, name: str) -> InputTensor | None:
        """The input of that name, or None where the request lacks it."""
        ...


Requests = Sequence[Request]
