"""Triton's model `translator` by CTranslate2: whole batches, as Triton gathered them."""

from __future__ import annotations

import json
import threading
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ctranslate2
import numpy as np
import triton_python_backend_utils as pb_utils

from serving.options import max_output_length


class TritonPythonModel:
    """Ids -> ids of the best hypothesis; one `translate_batch` for each batch of Triton's."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Load the converted model, and start a thread for each batch in flight."""
        parameters = json.loads(args["model_config"])["parameters"]
        settings = {name: entry["string_value"] for name, entry in parameters.items()}
        self._translator = ctranslate2.Translator(
            settings["folder"],
            device="cpu",
            compute_type="int8",
            inter_threads=int(settings["workers"]),
            intra_threads=int(settings["threads"]),
        )
        self._beam_size = int(settings["beam_size"])
        in_flight = int(settings["in_flight"])
        self._places = threading.Semaphore(in_flight)
        self._pool = ThreadPoolExecutor(in_flight)

    def execute(self, requests: list[Any]) -> None:
        """Start a batch, and return when another may start: Triton gathers requests meanwhile."""
        self._places.acquire()
        senders = [request.get_response_sender() for request in requests]
        self._pool.submit(self._answer, [_ids(request) for request in requests], senders)
        with self._places:
            pass

    def finalize(self) -> None:
        """Finish what is in flight."""
        self._pool.shutdown()

    def _answer(self, sources: Sequence[Sequence[int]], senders: Sequence[Any]) -> None:
        try:
            responses = self._translate(sources)
        except Exception as error:
            pb_utils.Logger.log_error(traceback.format_exc())
            failure = pb_utils.TritonError(str(error))
            responses = [pb_utils.InferenceResponse(output_tensors=[], error=failure)] * len(
                senders
            )
        finally:
            self._places.release()
        final = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
        for sender, response in zip(senders, responses, strict=True):
            sender.send(response, flags=final)

    def _translate(self, sources: Sequence[Sequence[int]]) -> list[Any]:
        results = self._translator.translate_batch(
            [[f"t{i}" for i in ids] for ids in sources],
            beam_size=self._beam_size,
            length_penalty=0,
            max_decoding_length=max_output_length(max(map(len, sources))),
            return_scores=True,
        )
        return [_response(result) for result in results]


def _ids(request: Any) -> list[int]:
    ids: list[int] = pb_utils.get_input_tensor_by_name(request, "ids").as_numpy()[0].tolist()
    return ids


def _response(result: Any) -> Any:
    ids = [int(token[1:]) for token in result.hypotheses[0]]
    arrays = {
        "hypothesis_ids": np.array([ids or [0]], dtype=np.int32),  # Triton takes no empty array
        "hypothesis_lengths": np.array([[len(ids)]], dtype=np.int32),
        "score": np.array([[result.scores[0]]], dtype=np.float32),
    }
    tensors = [pb_utils.Tensor(name, array) for name, array in arrays.items()]
    return pb_utils.InferenceResponse(output_tensors=tensors)
