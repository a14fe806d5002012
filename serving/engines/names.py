"""Names of the graphs' keys and values, the same for every engine."""

from __future__ import annotations


def cross_names(layers: int) -> list[str]:
    """Names of the encoder's outputs, which are inputs of the step."""
    return [f"cross_{kind}.{layer}" for layer in range(layers) for kind in ("key", "value")]


def cache_names(layers: int, prefix: str) -> list[str]:
    """Names of the self-attention cache, `past` as input or `present` as output of a step."""
    return [f"{prefix}_{kind}.{layer}" for layer in range(layers) for kind in ("key", "value")]
