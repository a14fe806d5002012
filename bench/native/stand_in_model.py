"""A graph that ONNX Runtime runs in a Python model: Triton's onnxruntime backend, where it lacks.

Tensors come and go through shared memory and one process more than with the real backend.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import triton_python_backend_utils as pb_utils

from serving.engines.sessions import cpu_session


class TritonPythonModel:
    """What is asked for of one graph's outputs."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Load the graph of the model's version."""
        self.folder = Path(args["model_repository"]) / args["model_version"]
        self._session = cpu_session((self.folder / "model.onnx").read_bytes(), threads=0)

    def execute(self, requests: list[Any]) -> list[Any]:
        """Answer one request after the other."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Any) -> Any:
        try:
            tensors = [pb_utils.Tensor(*pair) for pair in self.outputs(request)]
            return pb_utils.InferenceResponse(output_tensors=tensors)
        except Exception as error:
            fault = pb_utils.TritonError(str(error))
            return pb_utils.InferenceResponse(output_tensors=[], error=fault)

    def outputs(self, request: Any) -> list[tuple[str, Any]]:
        """Run the graph: names and arrays."""
        feed = {tensor.name(): tensor.as_numpy() for tensor in request.inputs()}
        names = list(request.requested_output_names())
        return list(zip(names, self._session.run(names, feed), strict=True))
