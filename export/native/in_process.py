"""ONNX Runtime in the place of Triton: the native engine without a server.

So the graphs are proven before they are written, and what the server adds can be measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import onnxruntime

from export.onnx_graphs import Graphs
from serving.engine import EngineSpec
from serving.engines.sessions import cpu_session
from serving.triton.interface import Array, Triton
from serving.triton.native_engine import DECODER_STEP, ENCODER, NativeEngine


def native_engine(graphs: Graphs, spec: EngineSpec, threads: int = 0) -> NativeEngine:
    """The native engine on graphs in memory; `threads` 0 is one a core."""
    return NativeEngine(cast(Triton, InProcess(graphs, threads)), spec)


class NamedValue:
    """A named array, kept as ONNX Runtime's value: a step copies no cache."""

    def __init__(self, name: str, content: Any) -> None:
        """`content` is an array or such a value."""
        self._name = name
        of_array = onnxruntime.OrtValue.ortvalue_from_numpy
        self.value = of_array(content) if isinstance(content, np.ndarray) else content

    def name(self) -> str:
        """As the graph calls it."""
        return self._name

    def as_numpy(self) -> Array:
        """A view where that can be had."""
        array: Array = self.value.numpy()
        return array


class InProcess:
    """The part of `triton_python_backend_utils` that the native engine uses."""

    TRITONSERVER_MEMORY_CPU = 0
    Tensor = NamedValue

    def __init__(self, graphs: Graphs, threads: int) -> None:
        pairs = ((ENCODER, graphs.encoder), (DECODER_STEP, graphs.decoder_step))
        self._sessions = {
            name: cpu_session(graph.SerializeToString(), threads) for name, graph in pairs
        }

    def PreferredMemory(self, kind: int) -> int:  # noqa: N802
        """There is one kind."""
        return kind

    def InferenceRequest(  # noqa: N802
        self,
        model_name: str,
        requested_output_names: Sequence[str],
        inputs: Sequence[NamedValue],
        preferred_memory: int,  # noqa: ARG002
    ) -> Call:
        """A call of one of the graphs."""
        return Call(self._sessions[model_name], requested_output_names, inputs)


class Call:
    """Request and response in one."""

    def __init__(self, session: Any, outputs: Sequence[str], inputs: Sequence[NamedValue]) -> None:
        self._session = session
        self._names = outputs
        self._inputs = inputs
        self._outputs: list[NamedValue] = []

    def exec(self) -> Call:
        """Run the graph; ONNX Runtime's errors are raised."""
        feed = {tensor.name(): tensor.value for tensor in self._inputs}
        values = self._session.run_with_ort_values(self._names, feed)
        self._outputs = [NamedValue(*pair) for pair in zip(self._names, values, strict=True)]
        return self

    def has_error(self) -> bool:
        """Errors were raised."""
        return False

    def output_tensors(self) -> list[NamedValue]:
        """What the graph gave."""
        return self._outputs
