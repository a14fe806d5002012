"""Plain values, as YAML gives them, to nested frozen dataclasses; strict about keys and types."""

from __future__ import annotations

import dataclasses
import types
import typing
from pathlib import Path
from typing import Any, TypeVar

import yaml

from serving.errors import ConfigError, check_known_keys

T = TypeVar("T")


def build(cls: type[T], values: object, where: str) -> T:
    """Make a dataclass from a mapping; `where` names the mapping in errors.

    A field whose class has `from_dict` is built by that; a list becomes a `tuple[T, ...]`.

    Raises:
        ConfigError: an unknown or missing key, or a value of another type.
    """
    if not isinstance(values, dict):
        raise ConfigError(f"{where} must be a mapping of keys to values, not {values!r}")
    fields = {field.name: field for field in dataclasses.fields(typing.cast(Any, cls))}
    check_known_keys(values, fields, where)
    missing = [n for n, f in fields.items() if n not in values and not _has_default(f)]
    if missing:
        raise ConfigError(f"missing key {', '.join(map(repr, missing))} in {where}")
    hints = typing.get_type_hints(cls)
    return cls(**{key: _convert(hints[key], v, f"{where}.{key}") for key, v in values.items()})


def load(cls: type[T], path: Path) -> T:
    """Make a dataclass from a YAML file.

    Raises:
        ConfigError: the file cannot be read, or a key or value is wrong.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"cannot read {path}: {error}") from error
    return build(cls, values, str(path))


def _has_default(field: dataclasses.Field[Any]) -> bool:
    unset = dataclasses.MISSING
    return field.default is not unset or field.default_factory is not unset


def _convert(hint: Any, value: Any, where: str) -> Any:
    choices = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if value is None and type(None) in choices:
        return None
    kinds = [choice for choice in choices if choice is not type(None)]
    kind = kinds[0] if len(kinds) == 1 else _with_keys(kinds, value, where)
    if hasattr(kind, "from_dict"):
        return kind.from_dict(value, where)
    if dataclasses.is_dataclass(kind):
        return build(typing.cast(type[Any], kind), value, where)
    if typing.get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise ConfigError(f"{where} must be a list, not {value!r}")
        item = typing.get_args(kind)[0]
        return tuple(_convert(item, v, f"{where}[{i}]") for i, v in enumerate(value))
    if typing.get_origin(kind) is typing.Literal:
        if value not in typing.get_args(kind):
            raise ConfigError(f"{where} must be one of {typing.get_args(kind)}, not {value!r}")
        return value
    if kind is Path and isinstance(value, str):
        return Path(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    kind = typing.get_origin(kind) or kind  # of dict[str, Any], only that it is a dict
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ConfigError(f"{where} must be of type {kind.__name__}, not {value!r}")
    return value


def _with_keys(kinds: list[Any], value: Any, where: str) -> Any:
    """Of several dataclasses, the one whose fields are the given keys."""
    names = [{field.name for field in dataclasses.fields(kind)} for kind in kinds]
    for kind, fields in zip(kinds, names, strict=True):
        if isinstance(value, dict) and value.keys() == fields:
            return kind
    known = " or ".join(f"{{{', '.join(sorted(fields))}}}" for fields in names)
    given = f"{{{', '.join(map(str, value))}}}" if isinstance(value, dict) else repr(value)
    raise ConfigError(f"{where} must have the keys {known}, not {given}")


def plain(value: Any) -> Any:
    """A dataclass as plain values that YAML and JSON can hold."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return str(value) if isinstance(value, Path) else value
