"""What a person may choose about a server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

READY_TIMEOUT_SECONDS = 120.0
EXIT_TIMEOUT_SECONDS = 30
MAX_RECOVERIES = 5
TRACE_RATE = 100


@dataclass(frozen=True)
class ServerSettings:
    """Where a server finds its models, where it listens, what it survives and how it logs.

    `ready_timeout` and `exit_timeout` are seconds; `tritonserver` is None to look for one. One
    request in `trace_rate` is traced and sent to `trace_otlp`, none where that is None.
    """

    repository: Path
    host: str = "127.0.0.1"
    http_port: int = 8000
    grpc_port: int = 8001
    metrics_port: int = 8002
    tritonserver: Path | None = None
    ready_timeout: float = READY_TIMEOUT_SECONDS
    exit_timeout: int = EXIT_TIMEOUT_SECONDS
    max_recoveries: int = MAX_RECOVERIES
    log_verbose: int = 0
    log_level: str = "warning"
    log_format: str = "text"
    log_requests: bool = False
    log_file: Path | None = None
    trace_otlp: str | None = None
    trace_rate: int = TRACE_RATE

    @property
    def ports(self) -> dict[str, int]:
        """The ports by the option that sets each."""
        return {
            "--http-port": self.http_port,
            "--grpc-port": self.grpc_port,
            "--metrics-port": self.metrics_port,
        }

    @property
    def shown_level(self) -> str:
        """The lowest level of the server's lines that are shown."""
        return "info" if self.log_verbose else self.log_level
