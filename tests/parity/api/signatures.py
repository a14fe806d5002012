"""Signatures of functions of extension modules, which stand in the first lines of their texts."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any


@dataclasses.dataclass(frozen=True)
class Signature:
    """One overload.

    Attributes:
        names: of its parameters, in order.
        required: those without a default.
        returns: what follows the arrow; empty if nothing does.
    """

    names: tuple[str, ...]
    required: frozenset[str]
    returns: str

    def refusal(self, positional: int, keywords: list[str]) -> str | None:
        """Why it does not take these arguments."""
        if positional > len(self.names):
            return f"takes {len(self.names)} arguments, not {positional}"
        given = {*self.names[:positional], *keywords}
        if unknown := set(keywords) - set(self.names):
            return f"has no argument {min(unknown)!r}"
        if missing := self.required - given:
            return f"needs the argument {min(missing)!r}"
        return None


def signatures(function: Any, name: str, bound: bool) -> list[Signature]:
    """The overloads that a function's text declares; without `self` where it is bound."""
    found = []
    pattern = rf"^(?:\d+\. )?{re.escape(name)}\((.*)\)(?: -> (.*))?$"
    for match in re.finditer(pattern, function.__doc__ or "", re.MULTILINE):
        if match[1] == "*args, **kwargs":  # the heading of a list of overloads
            continue
        parameters = list(_split(match[1]))[1 if bound else 0 :]
        names = [_name(parameter) for parameter in parameters]
        required = {n for n, p in zip(names, parameters, strict=True) if "=" not in p}
        found.append(Signature(tuple(names), frozenset(required), match[2] or ""))
    return found


def _split(parameters: str) -> Iterator[str]:
    """At the commas that are within no brackets."""
    depth, start = 0, 0
    for index, sign in enumerate(parameters):
        depth += (sign in "([{<") - (sign in ")]}>")
        if sign == "," and not depth:
            yield parameters[start:index].strip()
            start = index + 1
    if parameters[start:].strip():
        yield parameters[start:].strip()


def _name(parameter: str) -> str:
    """Of `name: type = default`, and of Cython's `type name=default`."""
    return re.split(r"[:=]", parameter)[0].split()[-1]
