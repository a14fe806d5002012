"""The same sentences for NVIDIA's perf_analyzer."""

from __future__ import annotations

import json
from collections.abc import Sequence

from serving.client.request import MODEL
from serving.load.requests import TextRequest
from serving.request_options import Options


def input_data(requests: Sequence[TextRequest], options: Options) -> str:
    """The content of a file for `--input-data`: one entry a request."""
    entries = [
        {
            "text": {"content": list(request.texts), "shape": [len(request.texts)]},
            "beam_size": [options.beam_size],
            "length_penalty": [options.length_penalty],
            "n_best": [options.n_best],
        }
        for request in requests
    ]
    return json.dumps({"data": entries}, ensure_ascii=False, indent=1) + "\n"


def command(file: str, address: str) -> str:
    """How to run it with that file against a gRPC address: closed loops of 1 to 8 clients."""
    return (
        f"perf_analyzer -m {MODEL} -i grpc -u {address} --input-data {file} "
        "--concurrency-range 1:8:1 --measurement-interval 10000 --percentile 95"
    )
