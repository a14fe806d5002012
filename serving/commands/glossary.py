"""Glossary files: terms and how each is translated."""

from __future__ import annotations

import json
from pathlib import Path

from serving.errors import DragomanError
from serving.formats.encoding import read_text
from serving.lines import open_bytes


def read_glossary(path: Path) -> dict[str, str]:
    """The terms of a file: a JSON object (.json), or lines of term, tab and translation.

    Raises:
        DragomanError: the file cannot be read or holds something else; the message says where.
    """
    with open_bytes(path) as stream:
        content = stream.read()
    _, text = read_text(path, content)
    return _from_json(path, text) if path.suffix == ".json" else _from_lines(path, text)


def _from_json(path: Path, text: str) -> dict[str, str]:
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise DragomanError(f"{path}, line {error.lineno}: no JSON: {error.msg}") from error
    if not isinstance(values, dict) or not all(isinstance(term, str) for term in values.values()):
        raise DragomanError(f'{path}: a glossary is an object of texts: {{"term": "translation"}}')
    return values


def _from_lines(path: Path, text: str) -> dict[str, str]:
    terms: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != 2 or not fields[0]:
            raise DragomanError(f"{path}, line {number}: a line is a term, a tab, its translation")
        term, translation = fields
        if terms.setdefault(term, translation) != translation:
            raise DragomanError(f"{path}, line {number}: {term!r} has another translation above")
    return terms
