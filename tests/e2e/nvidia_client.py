"""Requests through NVIDIA's own clients."""

from __future__ import annotations

from typing import Any

import numpy as np
import tritonclient.grpc
import tritonclient.http

from tests.e2e.launched import LaunchedServer

HTTP, GRPC = "http", "grpc"
TYPES = {"O": "BYTES", "i": "INT32", "f": "FP32"}


def texts(*values: str) -> Any:
    """The input `text` of these texts."""
    return np.array([value.encode() for value in values], dtype=np.object_)


def option(name: str, value: float) -> Any:
    """An option as an input."""
    return np.array([value], dtype=np.float32 if name == "length_penalty" else np.int32)


def infer(
    server: LaunchedServer,
    way: str,
    arrays: dict[str, Any],
    parameters: dict[str, Any] | None = None,
) -> tuple[list[str], list[float]]:
    """Translations and scores of a request made of arrays and parameters."""
    module = tritonclient.http if way == HTTP else tritonclient.grpc
    port = server.http_port if way == HTTP else server.grpc_port
    tensors = []
    for name, array in arrays.items():
        tensor = module.InferInput(name, list(array.shape), TYPES[array.dtype.kind])
        tensor.set_data_from_numpy(array)
        tensors.append(tensor)
    with module.InferenceServerClient(f"127.0.0.1:{port}") as client:
        answer = client.infer("translate", tensors, parameters=parameters)
    translations = [entry.decode() for entry in answer.as_numpy("translation")]
    return translations, answer.as_numpy("score").tolist()
