"""Names of inputs and outputs that the graphs of every engine have."""

from __future__ import annotations

EDITS = ("edit_id", "edit_factor", "edit_addend")
"""Inputs of the step: the edits of log-probabilities (see `serving.engine.Edits`)."""

FOUND = ("log_prob", "candidate", "edited")
"""Outputs of the step beside its cache (see `serving.engine.Candidates`)."""


def cross_names(layers: int) -> list[str]:
    """Names of the encoder's outputs, which are inputs of the step."""
    return [f"cross_{kind}.{layer}" for layer in range(layers) for kind in ("key", "value")]


def cache_names(layers: int, prefix: str) -> list[str]:
    """Names of the self-attention cache, `past` as input or `present` as output of a step."""
    return [f"{prefix}_{kind}.{layer}" for layer in range(layers) for kind in ("key", "value")]
