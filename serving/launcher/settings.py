"""What a person may choose about a server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

READY_TIMEOUT_SECONDS = 120.0
EXIT_TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class ServerSettings:
    """Where a server finds its models, where it listens and how it logs.

    `ready_timeout` and `exit_timeout` are seconds; `tritonserver` is None to look for one.
    """

    repository: Path
    host: str = "127.0.0.1"
    http_port: int = 8000
    grpc_port: int = 8001
    metrics_port: int = 8002
    tritonserver: Path | None = None
    ready_timeout: float = READY_TIMEOUT_SECONDS
    exit_timeout: int = EXIT_TIMEOUT_SECONDS
    log_verbose: int = 0
    log_file: Path | None = None

    @property
    def ports(self) -> dict[str, int]:
        """The ports by the option that sets each."""
        return {
            "--http-port": self.http_port,
            "--grpc-port": self.grpc_port,
            "--metrics-port": self.metrics_port,
        }
