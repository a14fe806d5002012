"""Triton's model-repository API: loading and unloading models of a running server.

Who may unload models may end the service, so the API is restricted to one launcher's secret.
"""

from __future__ import annotations

import json
from typing import Any

from serving.launcher.endpoint import Endpoint

SECRET_HEADER = "x-dragoman-launcher"
INDEX_TIMEOUT_SECONDS = 5.0


def control_arguments(secret: str) -> list[str]:
    """Arguments of a tritonserver that loads every model, and more only for those with `secret`."""
    return [
        "--model-control-mode=explicit",
        "--load-model=*",
        f"--http-restricted-api=model-repository:{SECRET_HEADER}={secret}",
        f"--grpc-restricted-protocol=model-repository:{SECRET_HEADER}={secret}",
    ]


class RepositoryApi:
    """The API of one server. Its methods raise one of `endpoint.FAULTS` when they fail."""

    def __init__(self, endpoint: Endpoint, secret: str) -> None:
        self._endpoint = endpoint
        self._secret = secret

    def names(self) -> list[str]:
        """Return the names of the models that are loaded."""
        index = json.loads(self._post("index", INDEX_TIMEOUT_SECONDS))
        return [model["name"] for model in index if model.get("state") == "READY"]

    def load(self, model: str, timeout: float) -> None:
        """Load a model, and the ensembles that waited for it."""
        self._post(f"models/{model}/load", timeout)

    def unload(self, model: str, timeout: float) -> None:
        """Unload a model; returns at once, while its last requests are still being answered."""
        self._post(f"models/{model}/unload", timeout)

    def _post(self, path: str, timeout: float) -> Any:
        headers = {SECRET_HEADER: self._secret}
        place = f"/v2/repository/{path}"
        status, body = self._endpoint.request("POST", place, timeout, b"{}", headers)
        if status != 200:
            raise OSError(f"{place} answers {status}: {body.decode(errors='replace')}")
        return body
