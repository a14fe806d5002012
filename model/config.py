"""Sizes and choices of a Transformer, frozen and saved with every checkpoint."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from model.strict import build
from serving.errors import ConfigError, check_known_keys


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """A Transformer's shape (paper, section 3 and table 3).

    Raises:
        ConfigError: a size is not positive, or `d_model` is not divisible by `heads`.
    """

    vocab_size: int = 8000
    d_model: int = 512
    d_ff: int = 2048
    heads: int = 8
    encoder_layers: int = 6
    decoder_layers: int = 6
    dropout: float = 0.1
    norm: Literal["post", "pre"] = "post"
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2

    def __post_init__(self) -> None:
        for name in ("vocab_size", "d_model", "d_ff", "heads", "encoder_layers", "decoder_layers"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.d_model % self.heads:
            raise ConfigError(f"d_model {self.d_model} is not divisible by heads {self.heads}")
        if self.d_model % 2:
            raise ConfigError(f"d_model {self.d_model} must be even for sinusoidal positions")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout must be in [0, 1), not {self.dropout}")
        if self.norm not in ("post", "pre"):
            raise ConfigError(f"norm must be 'post' or 'pre', not {self.norm!r}")

    @property
    def d_head(self) -> int:
        """Width of one attention head: d_k = d_v = d_model / heads."""
        return self.d_model // self.heads

    @classmethod
    def from_dict(cls, values: object, where: str = "model") -> ModelConfig:
        """Build from plain values; `preset` names the sizes that the other keys override.

        Raises:
            ConfigError: an unknown key or preset, or an impossible value.
        """
        if not isinstance(values, dict):
            raise ConfigError(f"{where} must be a mapping of keys to values, not {values!r}")
        known = [field.name for field in dataclasses.fields(cls)]
        check_known_keys(values, [*known, "preset"], where)
        preset = values.get("preset", "base")
        if preset not in PRESETS:
            raise ConfigError(f"unknown preset {preset!r}; known presets: {', '.join(PRESETS)}")
        given = {key: value for key, value in values.items() if key != "preset"}
        return build(cls, {**PRESETS[preset].to_dict(), **given}, where)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, the inverse of `from_dict`."""
        return dataclasses.asdict(self)


PRESETS: dict[str, ModelConfig] = {
    "tiny": ModelConfig(d_model=128, d_ff=256, heads=4, encoder_layers=4, decoder_layers=4),
    "small": ModelConfig(d_model=256, d_ff=1024, heads=4, encoder_layers=4, decoder_layers=3),
    "base": ModelConfig(),
    "big": ModelConfig(d_model=1024, d_ff=4096, heads=16, dropout=0.3),
}
