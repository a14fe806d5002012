"""A stand-in for Triton's module `triton_python_backend_utils`: its few verbs, in process."""

from __future__ import annotations

import json
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np


class Error(SimpleNamespace):
    """TritonError: its message and code."""

    INVALID_ARG, UNAVAILABLE, CANCELLED = "invalid", "unavailable", "cancelled"

    def __init__(self, message: str, code: str = "internal") -> None:
        super().__init__(message=message, code=code)


class Request:
    """A request of arrays and parameters that collects the answers sent to it."""

    def __init__(
        self,
        arrays: dict[str, Any],
        parameters: dict[str, Any] | None = None,
        timeout: int = 0,
        name: str = "number 1",
        many: bool = False,
    ) -> None:
        """Make one; with `many`, several answers are sent to it."""
        self.arrays = arrays
        self._id = name
        self._parameters = json.dumps(parameters or {})
        self._timeout = timeout
        self.sent: list[Any] = []
        self.deserted = False
        self.asked = 0
        self._many = many

    def parameters(self) -> str:
        return self._parameters

    def request_id(self) -> str:
        return self._id

    def timeout(self) -> int:
        return self._timeout

    def get_response_sender(self) -> Any:
        return SimpleNamespace(send=self._send, is_cancelled=self._is_cancelled)

    @property
    def error(self) -> Error:
        """The error that is its only answer."""
        ((answer, flags),) = self.sent
        assert flags == 1
        assert isinstance(answer.error, Error)
        return answer.error

    def _send(self, response: Any = None, flags: int = 0) -> None:
        self.sent.append((response, flags))

    def _is_cancelled(self) -> bool:
        ended = any(flags for _, flags in self.sent) if self._many else self.sent
        assert not ended, "the server has freed what this asks about"
        self.asked += 1
        return self.deserted


def sentences(*rows: list[int], parameters: dict[str, Any] | None = None, **keys: Any) -> Request:
    """A request to a translator."""
    ids = np.array([token for row in rows for token in row] or [0], dtype=np.int32)
    lengths = np.array([len(row) for row in rows], dtype=np.int32)
    return Request({"ids": ids, "lengths": lengths}, parameters, **keys)


class MetricFamily:
    """Keeps the values of all metrics by name and labels, as they would be scraped."""

    COUNTER, GAUGE = "counter", "gauge"

    def __init__(self, values: dict[str, float], name: str, description: str, kind: str) -> None:
        assert description
        self._values, self._name, self._kind = values, name, kind

    def Metric(self, labels: dict[str, str]) -> Any:  # noqa: N802
        text = ",".join(f'{key}="{value}"' for key, value in labels.items())
        key = f"{self._name}{{{text}}}"
        self._values.setdefault(key, 0.0)
        if self._kind == self.COUNTER:
            return SimpleNamespace(increment=partial(self._increment, key))
        return SimpleNamespace(set=partial(self._values.__setitem__, key))

    def _increment(self, key: str, value: float) -> None:
        assert value > 0
        self._values[key] += value


def fake_triton() -> Any:
    """The module, with `values` of its metrics and the `lines` of its log."""
    values: dict[str, float] = {}
    lines: list[str] = []

    def family(**keys: Any) -> MetricFamily:
        return MetricFamily(values, **keys)

    family.COUNTER, family.GAUGE = MetricFamily.COUNTER, MetricFamily.GAUGE  # type: ignore[attr-defined]
    return SimpleNamespace(
        TRITONSERVER_RESPONSE_COMPLETE_FINAL=1,
        Tensor=lambda name, array: (name, array),
        InferenceResponse=_response,
        TritonError=Error,
        MetricFamily=family,
        Logger=SimpleNamespace(log_error=lines.append, log_info=lines.append),
        get_input_tensor_by_name=_input,
        values=values,
        lines=lines,
    )


def _input(request: Request, name: str) -> Any:
    array = request.arrays.get(name)
    return None if array is None else SimpleNamespace(as_numpy=lambda: np.asarray(array))


def _response(output_tensors: list[Any], error: Error | None = None) -> Any:
    return SimpleNamespace(arrays=dict(output_tensors), error=error)
