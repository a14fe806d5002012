"""What an expression of the source stands for, as far as it is of interest here."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Static:
    """A module, class, function or constant of the bindings."""

    value: Any


@dataclasses.dataclass(frozen=True)
class Instance:
    """An object of a class of the bindings."""

    kind: type


@dataclasses.dataclass(frozen=True)
class Many:
    """A list of such objects."""

    kind: type


@dataclasses.dataclass(frozen=True)
class Method:
    """A method of such an object."""

    kind: type
    name: str


Value = Static | Instance | Many | Method | None


def annotated(annotation: ast.expr | None, modules: dict[str, Any]) -> Value:
    """What a name with this annotation stands for; None if it is nothing of the bindings."""
    if isinstance(annotation, ast.BinOp):  # X | None
        return annotated(annotation.left, modules)
    if isinstance(annotation, ast.Subscript):
        inner = annotated(annotation.slice, modules)
        return Many(inner.kind) if isinstance(inner, Instance) else None
    path = ast.unparse(annotation).split(".") if annotation is not None else [""]
    value = modules.get(path[0])
    if value is None or len(path) == 1:
        return None
    for name in path[1:]:
        value = getattr(value, name, None)
    return Instance(value) if isinstance(value, type) else None


def returned(text: str, modules: dict[str, Any]) -> Value:
    """What `-> text` of a signature stands for, as in `tensorrt_bindings.tensorrt.Builder`."""
    path = text.partition(" |")[0].removeprefix("Optional[").rstrip("]").split(".")
    kind = getattr(modules["trt"], path[-1], None) if path[0].startswith("tensorrt") else None
    return Instance(kind) if isinstance(kind, type) else None
