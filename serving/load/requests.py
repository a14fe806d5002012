"""The sentences that are sent, as requests of one text or several."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from serving.errors import DragomanError
from serving.lines import read_lines


@dataclasses.dataclass(frozen=True, slots=True)
class TextRequest:
    """Texts that go together, and their translations where these are known."""

    texts: tuple[str, ...]
    expected: tuple[str, ...] | None = None


def read_requests(
    text: Path, expected: Path | None, texts_per_request: int, sentences: int | None
) -> list[TextRequest]:
    """The sentences of a file, in its order; blank lines are left out.

    Args:
        text: source sentences, one a line, plain or .gz.
        expected: their translations, line by line.
        texts_per_request: what does not fill a last request is left out.
        sentences: take so many; all if None.

    Raises:
        DragomanError: a file cannot be read, there are too few sentences, or the files differ in
            length.
    """
    lines = read_lines(text)
    translations = read_lines(expected) if expected else None
    if translations is not None and len(translations) != len(lines):
        raise DragomanError(
            f"{expected} has {len(translations)} lines and {text} has {len(lines)}; "
            "translate the same file, whole: dragoman translate --repository DIR FILE"
        )
    return group_requests(lines, translations, texts_per_request, sentences, str(text))


def group_requests(
    lines: Sequence[str],
    translations: Sequence[str] | None,
    texts_per_request: int,
    sentences: int | None = None,
    name: str = "the text",
) -> list[TextRequest]:
    """As `read_requests`, of lines that are there already; `name` is for errors.

    Raises:
        DragomanError: there are too few sentences.
    """
    chosen = [n for n, line in enumerate(lines) if line.strip()][:sentences]
    if len(chosen) < texts_per_request:
        raise DragomanError(
            f"{name} holds {len(chosen)} sentences, but a request holds {texts_per_request}"
        )
    groups = [
        chosen[start : start + texts_per_request]
        for start in range(0, len(chosen) - texts_per_request + 1, texts_per_request)
    ]
    return [
        TextRequest(
            tuple(lines[n] for n in group),
            tuple(translations[n] for n in group) if translations is not None else None,
        )
        for group in groups
    ]
