"""A request to the server as the protocol has it: which option travels how is decided here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from tritonclient.grpc import service_pb2
from tritonclient.utils import serialize_byte_tensor, triton_to_np_dtype

from serving.options import INPUT_TYPES
from serving.request_options import Options

MODEL = "translate"
STREAM_MODEL = "translate_stream"


def infer_request(model: str, texts: Sequence[str], options: Options, seconds: float) -> Any:
    """The protobuf message that asks a model for translations.

    Args:
        model: name of the model.
        texts: what to translate.
        options: of every text.
        seconds: after which the server need not go on.
    """
    request = service_pb2.ModelInferRequest(model_name=model)
    _add_input(request, "text", _bytes_of(texts), "BYTES")
    for name, value in options.given().items():
        if name in INPUT_TYPES:
            kind = triton_to_np_dtype(INPUT_TYPES[name])
            _add_input(request, name, np.array([value], dtype=kind), INPUT_TYPES[name])
        else:
            _set_parameter(request, name, value)
    request.parameters["timeout"].int64_param = max(1, int(seconds * 1e6))  # microseconds
    return request


def _bytes_of(texts: Sequence[str]) -> np.ndarray[Any, Any]:
    return np.array([text.encode("utf-8") for text in texts], dtype=np.object_)


def _add_input(request: Any, name: str, values: np.ndarray[Any, Any], type_name: str) -> None:
    request.inputs.add(name=name, datatype=type_name, shape=values.shape)
    is_text = type_name == "BYTES"
    raw = serialize_byte_tensor(values).item() if is_text else values.tobytes()
    request.raw_input_contents.append(raw)


def _set_parameter(request: Any, name: str, value: Any) -> None:
    """Triton's parameters are single values: a list or a mapping goes as JSON."""
    parameter = request.parameters[name]
    if isinstance(value, str):
        parameter.string_param = value
    elif isinstance(value, int):
        parameter.int64_param = value
    elif isinstance(value, float):
        parameter.double_param = value
    else:
        plain = dict(value) if hasattr(value, "keys") else list(value)
        parameter.string_param = json.dumps(plain, ensure_ascii=False)
