"""The stand-in for a backend of Triton's, which fails while a file `fail` lies beside its graph."""

from __future__ import annotations

from typing import Any

from bench.native.stand_in_model import TritonPythonModel as StandIn


class TritonPythonModel(StandIn):
    """Fails on demand."""

    def outputs(self, request: Any) -> list[tuple[str, Any]]:
        if (self.folder / "fail").exists():
            raise MemoryError("no memory is left")
        return super().outputs(request)
