"""Questions to the model `translator` of the same server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from serving.errors import EngineError
from serving.triton.decoding import DECODING, Decoding
from serving.triton.finding import OUTPUTS, Finding
from serving.triton.interface import Triton
from serving.triton.ragged import flatten


class RefusalError(Exception):
    """The translator answered with an error; `error` is Triton's, to be passed on."""

    def __init__(self, error: Any) -> None:
        super().__init__(error.message())
        self.error = error


class Asker:
    """Asks for one sentence and waits; from any thread."""

    def __init__(self, triton: Triton, model: str) -> None:
        """Args: the module `triton_python_backend_utils`, and the translator's name."""
        self._triton, self._model = triton, model

    def __call__(self, sentence: Sequence[int], decoding: Decoding, seconds: float) -> Finding:
        """What the search finds for a sentence's ids.

        Args:
            sentence: closed by EOS.
            decoding: how to search.
            seconds: that it may take.

        Raises:
            RefusalError: the translator refuses it, or it is not there.
        """
        ids, lengths = flatten([sentence])
        arrays = {"ids": ids, "lengths": lengths, DECODING: decoding.array()}
        request = self._triton.InferenceRequest(
            model_name=self._model,
            requested_output_names=list(OUTPUTS),
            inputs=[self._triton.Tensor(name, array) for name, array in arrays.items()],
            preferred_memory=self._triton.PreferredMemory(self._triton.TRITONSERVER_MEMORY_CPU),
            timeout=max(1, int(seconds * 1e6)),
        )
        response = request.exec()
        if response.has_error():
            raise RefusalError(response.error())
        found = {tensor.name(): tensor.as_numpy() for tensor in response.output_tensors()}
        missing = set(OUTPUTS) - set(found)
        if missing:
            raise EngineError(f"the model {self._model!r} gave no {', '.join(sorted(missing))}")
        return Finding.of(lambda name: np.asarray(found[name]), 1)
