"""A decoupled model that tests serve as `translate_stream`: it "translates" a word at a time.

It knows no language: it proves how a stream travels. Before each word it waits `temperature`
seconds; the words "fault" and "overload" are errors; its journal says what became of each request.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils


def _tensors(text: str, words: list[str], index: int) -> list[Any]:
    start = sum(len(word) + 1 for word in words[:index])
    last = index == len(words) - 1
    texts = {
        "translation": words[index].upper(),
        "before": " " if index else "",
        "after": "!" if last else "",
    }
    numbers = {
        "index": index,
        "total": len(words),
        "source_start": start,
        "source_end": start + len(words[index]),
    }
    return [
        *(
            pb_utils.Tensor(name, np.array([value.encode()], dtype=np.object_))
            for name, value in texts.items()
        ),
        *(
            pb_utils.Tensor(name, np.array([value], dtype=np.int32))
            for name, value in numbers.items()
        ),
    ]


class TritonPythonModel:
    """Sends a response for each word, from a thread of its own."""

    def initialize(self, args: dict[str, Any]) -> None:
        self._journal = Path(args["model_repository"]) / "journal.jsonl"

    def execute(self, requests: list[Any]) -> None:
        for request in requests:
            text = pb_utils.get_input_tensor_by_name(request, "text").as_numpy()[0].decode()
            if not text:  # the launcher's question
                final = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
                request.get_response_sender().send(flags=final)
                continue
            parameters = json.loads(request.parameters() or "{}")
            parameters["timeout"] = request.timeout() or parameters.get("timeout")
            sender = request.get_response_sender()
            threading.Thread(target=self._answer, args=(sender, text, parameters)).start()

    def _answer(self, sender: Any, text: str, parameters: dict[str, Any]) -> None:
        outcome = self._send(sender, text, float(parameters.get("temperature", 0)))
        line = json.dumps({"outcome": outcome, "parameters": parameters})
        with self._journal.open("a") as journal:
            journal.write(line + os.linesep)

    def _send(self, sender: Any, text: str, pause: float) -> str:
        words = text.split(" ")
        outcome = "done"
        for index, word in enumerate(words):
            time.sleep(pause)
            if sender.is_cancelled():
                outcome = "cancelled"
                break
            if word in ("fault", "overload"):
                code = "INVALID_ARG" if word == "fault" else "UNAVAILABLE"
                message = f"{word}: here" if word == "fault" else "overloaded: try again"
                error = pb_utils.TritonError(message, getattr(pb_utils.TritonError, code))
                sender.send(pb_utils.InferenceResponse(error=error))
                outcome = word
                break
            sender.send(pb_utils.InferenceResponse(output_tensors=_tensors(text, words, index)))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        return outcome
