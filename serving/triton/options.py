"""A request's options, given as inputs, as parameters or as one JSON object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from serving.errors import RequestError
from serving.options import INPUT_TYPES
from serving.request_options import LISTS, MAPPINGS, Options
from serving.triton.inputs import single_value
from serving.triton.interface import Request, Triton

OPTIONS = "options"
"""The input that holds any of them, as a JSON object."""

# What Triton and its clients add to a request's parameters.
TRITON_PARAMETERS = frozenset({"id", "priority", "timeout"})
TRITON_PREFIXES = ("triton_", "sequence_", "binary_data")


def options_of(triton: Triton, request: Request) -> Options:
    """Return the options that a request's inputs and parameters ask for, else the defaults.

    Raises:
        RequestError: an option is unknown, out of its range or given twice.
    """
    given: dict[str, Any] = {}
    for where, values in (
        ("as an input", _inputs(triton, request)),
        (f"in the input {OPTIONS!r}", _object(triton, request)),
        ("as a parameter", _parameters(request)),
    ):
        for name, value in values.items():
            if name in given:
                raise RequestError(f"{name} is given twice, the second time {where}")
            given[name] = _plain(name, value)
    return Options.of({"return_" if name == "return" else name: v for name, v in given.items()})


def seconds_of(request: Request) -> float | None:
    """Return the seconds that a request's client allows: Triton's timeout, in microseconds.

    `generate` passes it on as a parameter, `infer` as the request's own.

    Raises:
        RequestError: it is no positive whole number.
    """
    given = request.timeout() or json.loads(request.parameters() or "{}").get("timeout")
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise RequestError(f"timeout must be a positive number of microseconds, not {given!r}")
    return given / 1e6


def _inputs(triton: Triton, request: Request) -> dict[str, Any]:
    tensors = {name: triton.get_input_tensor_by_name(request, name) for name in INPUT_TYPES}
    return {
        name: single_value(tensor.as_numpy(), name)
        for name, tensor in tensors.items()
        if tensor is not None
    }


def _object(triton: Triton, request: Request) -> Mapping[str, Any]:
    tensor = triton.get_input_tensor_by_name(request, OPTIONS)
    if tensor is None:
        return {}
    array = tensor.as_numpy().reshape(-1)
    if array.size != 1:
        raise RequestError(f"{OPTIONS} must be one text, not {array.size}")
    found: Mapping[str, Any] = _decoded(OPTIONS, array[0], dict)
    return found


def _parameters(request: Request) -> Mapping[str, Any]:
    parameters: dict[str, Any] = json.loads(request.parameters() or "{}")
    return {
        name: value
        for name, value in parameters.items()
        if name not in TRITON_PARAMETERS and not name.startswith(TRITON_PREFIXES)
    }


def _plain(name: str, value: Any) -> Any:
    """Triton's parameters are single values: a list is a JSON text or its only entry."""
    if name in LISTS and isinstance(value, str):
        return _decoded(name, value, list) if value.lstrip().startswith("[") else [value]
    if name in MAPPINGS and isinstance(value, str):
        return _decoded(name, value, dict)
    return value


def _decoded(name: str, text: str | bytes, kind: type) -> Any:
    what = "an object" if kind is dict else "a list"
    try:
        value = json.loads(text)
    except ValueError as error:  # UnicodeDecodeError is one, too
        raise RequestError(f"{name} must be {what} in JSON: {error}") from error
    if not isinstance(value, kind):
        raise RequestError(f"{name} must be {what} in JSON, not {value!r}")
    return value
