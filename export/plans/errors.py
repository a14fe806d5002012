"""What TensorRT says goes wrong, as exceptions."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import TYPE_CHECKING, Any

from serving.errors import DragomanError

if TYPE_CHECKING:
    import tensorrt as trt


class CompileError(DragomanError):
    """TensorRT makes no plan of a graph; the message holds what it said."""


@functools.cache
def error_log(trt: ModuleType) -> Any:
    """The log that collects errors; one for a process, since TensorRT keeps the first one given."""

    class ErrorLog(trt.ILogger):  # type: ignore[misc,name-defined]
        """Keeps what is reported at the level of errors."""

        def __init__(self) -> None:
            trt.ILogger.__init__(self)
            self.messages: list[str] = []

        def log(self, severity: Any, message: str) -> None:
            if severity in (trt.ILogger.INTERNAL_ERROR, trt.ILogger.ERROR):
                self.messages.append(message)

    return ErrorLog()


def parser_errors(parser: trt.OnnxParser) -> list[str]:
    """What a parser refused, each with the node."""
    found = []
    for index in range(parser.num_errors):
        error: trt.ParserError = parser.get_error(index)
        node = error.node_name() or f"number {error.node()}"
        operator, code = error.node_operator(), error.code().name
        found.append(f"node {node} ({operator}): {code}: {error.desc()}")
    return found
