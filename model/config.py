"""Sizes and choices of a model, frozen and saved with every checkpoint."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from model.strict import build
from serving.errors import ConfigError, check_known_keys

_SIZES = (
    *("vocab_size", "d_model", "d_ff", "heads", "d_k", "encoder_layers", "decoder_layers"),
    *("max_positions", "attention_span"),
)


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """A Transformer's shape (paper, section 3 and table 3).

    Attributes:
        architecture: `transformer`, or `gru` for what it is compared with, `model.recurrent`,
            which has no heads, feed-forward networks, norms and positions: their keys say nothing.
        vocab_size: V, of source and target together.
        d_model: D, width between layers.
        d_ff: width inside a feed-forward network.
        heads: H.
        d_k: width of a head's queries and keys; null for D/H, as values have.
        encoder_layers: number of layers.
        decoder_layers: number of layers.
        dropout: of embeddings and of each sub-layer's output.
        norm: LayerNorm after each residual sum, or before each sub-layer.
        positions: what tells positions apart.
        max_positions: number of learned positions.
        encoder_attention: whom a source token looks at; see `masks.encoder_mask`.
        attention_span: half width of the window, or the stride.
        pad_id: fills ragged batches.
        bos_id: the decoder's first input.
        eos_id: ends every sentence.

    Raises:
        ConfigError: a size is not positive, or `d_model` is not divisible by `heads`.
    """

    architecture: Literal["transformer", "gru"] = "transformer"
    vocab_size: int = 8000
    d_model: int = 512
    d_ff: int = 2048
    heads: int = 8
    d_k: int | None = None
    encoder_layers: int = 6
    decoder_layers: int = 6
    dropout: float = 0.1
    norm: Literal["post", "pre"] = "post"
    positions: Literal["sinusoidal", "learned", "none"] = "sinusoidal"
    max_positions: int = 1056
    encoder_attention: Literal["full", "window", "strided"] = "full"
    attention_span: int = 8
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2

    def __post_init__(self) -> None:
        for name in _SIZES:
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.d_model % self.heads:
            raise ConfigError(f"d_model {self.d_model} is not divisible by heads {self.heads}")
        if self.d_model % 2:
            raise ConfigError(f"d_model {self.d_model} must be even for sinusoidal positions")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout must be in [0, 1), not {self.dropout}")

    @property
    def d_head(self) -> int:
        """Width of one attention head, d_v = d_model / heads, and d_k unless that is set apart."""
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
