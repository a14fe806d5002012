"""One port of a running server, asked over HTTP."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FAULTS = (OSError, http.client.HTTPException)
"""What a request raises when there is no answer."""


@dataclass(frozen=True)
class Endpoint:
    """Where a server listens, as this machine reaches it."""

    address: str
    port: int

    def request(
        self,
        method: str,
        path: str,
        timeout: float,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        """Return status and body of the answer; wait `timeout` seconds at most for each part.

        Raises:
            OSError: there is no answer; or another of `FAULTS`.
        """
        connection = http.client.HTTPConnection(self.address, self.port, timeout=timeout)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def json(self, path: str, timeout: float) -> Any:
        """Return the JSON that a GET of `path` answers with.

        Raises:
            OSError: there is no answer, or none of status 200; or another of `FAULTS`.
        """
        status, body = self.request("GET", path, timeout)
        if status != 200:
            raise OSError(f"{path} answers {status}: {body.decode(errors='replace')}")
        return json.loads(body)
