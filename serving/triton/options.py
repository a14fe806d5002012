"""A request's decoding options, given as inputs or as parameters."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from serving.errors import RequestError
from serving.options import DecodingOptions
from serving.triton.inputs import single_value
from serving.triton.interface import Array, Request, Triton

OPTION_TYPES = {"beam_size": np.int32, "length_penalty": np.float32, "n_best": np.int32}

# What Triton and its clients add to a request's parameters.
TRITON_PARAMETERS = frozenset({"id", "priority", "timeout"})
TRITON_PREFIXES = ("triton_", "sequence_", "binary_data")


def options_of(triton: Triton, request: Request) -> DecodingOptions:
    """Return the options that a request's inputs and parameters ask for, else the defaults.

    Raises:
        RequestError: an option is unknown, out of its range or given twice.
    """
    given = _given_as_inputs(triton, request)
    for name, value in _parameters(request).items():
        if name in given:
            raise RequestError(f"{name} is given twice, as an input and as a parameter")
        given[name] = value
    return DecodingOptions.from_mapping(given)


def input_options_of(triton: Triton, request: Request) -> DecodingOptions:
    """Return the options that a request's inputs alone ask for, else the defaults.

    Raises:
        RequestError: an option is out of its range.
    """
    return DecodingOptions.from_mapping(_given_as_inputs(triton, request))


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


def option_arrays(options: DecodingOptions) -> dict[str, Array]:
    """Return each option as an array (1,), by name."""
    values = dataclasses.asdict(options)
    return {name: np.array([values[name]], dtype=kind) for name, kind in OPTION_TYPES.items()}


def _given_as_inputs(triton: Triton, request: Request) -> dict[str, Any]:
    tensors = {name: triton.get_input_tensor_by_name(request, name) for name in OPTION_TYPES}
    return {
        name: single_value(tensor.as_numpy(), name)
        for name, tensor in tensors.items()
        if tensor is not None
    }


def _parameters(request: Request) -> Mapping[str, Any]:
    parameters: dict[str, Any] = json.loads(request.parameters() or "{}")
    return {
        name: value
        for name, value in parameters.items()
        if name not in TRITON_PARAMETERS and not name.startswith(TRITON_PREFIXES)
    }
