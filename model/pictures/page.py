"""Attention maps as one HTML page that needs nothing else."""

from __future__ import annotations

import html
import importlib.resources
import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from model.pictures.maps import AttentionMaps
from model.pictures.recording import Kind

STEPS = 1000
"""A weight of 1 in the page's data; what a person can read off a colour is far coarser."""

HIDDEN = -1
"""Stands in the page's data where the query may not look."""

TITLES = {
    Kind.ENCODER: "Encoder self-attention",
    Kind.DECODER: "Decoder self-attention",
    Kind.CROSS: "Cross-attention",
}

NOTES = {
    Kind.ENCODER: "Each source token looks at the source.",
    Kind.DECODER: "Each target token, while it is written, looks at what is written before it.",
    Kind.CROSS: "Each target token, while it is written, looks at the source.",
}


def render(maps: Sequence[AttentionMaps], model: str, source: str, target: str) -> str:
    """The page, with its style and script inside.

    Args:
        maps: what to show.
        model: name of the model.
        source: the source sentence.
        target: the target sentence.
    """
    parts = {
        "style": _part("page.css"),
        "script": _part("page.js"),
        "data": _script_json([_data(each) for each in maps]),
        "model": html.escape(model),
        "source": html.escape(source),
        "target": html.escape(target),
    }
    # In one pass, so that a sentence with a placeholder's name in it stays a sentence.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _part("page.html"))


def _data(maps: AttentionMaps) -> dict[str, Any]:
    values = np.rint(maps.weights * STEPS).astype(int)
    values = np.where(maps.visible, values, HIDDEN)
    layers, heads, _, _ = values.shape
    return {
        "kind": maps.kind,
        "title": TITLES[maps.kind],
        "note": NOTES[maps.kind],
        "rows": maps.rows,
        "columns": maps.columns,
        "layers": values.reshape(layers, heads, -1).tolist(),  # a map's rows, one after another
    }


def _script_json(value: object) -> str:
    """JSON that cannot end the script element which holds it."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _part(name: str) -> str:
    return importlib.resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
