"""What every engine of the comparison can do, and the model that all of them get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, cast

import torch
from torch import Tensor, nn

from model.config import ModelConfig
from model.engine import TorchEngine
from model.transformer import Transformer
from serving.engine import Engine, default_workers
from serving.errors import ConfigError
from serving.options import EXTRA_TOKENS, MAX_SOURCE_TOKENS, DecodingOptions
from serving.search import search
from serving.shortlist import Shortlist

Precision = Literal["fp32", "int8"]
PRECISIONS: tuple[Precision, ...] = ("fp32", "int8")

WITH_SHORTLIST = " with shortlist"
"""Ends the name of an engine that has one."""

NO_LENGTH_PENALTY = 0.0
"""The engines' length penalties are different formulas, but at 0 all compare log-probabilities."""

Ids = Sequence[int]


class Contender(Protocol):
    """A translation engine with its model and threads."""

    @property
    def name(self) -> str:
        """As tables call it."""
        ...

    @property
    def precision(self) -> Precision:
        """Of its matrix products."""
        ...

    def translate(
        self, sources: Sequence[Ids], beam_size: int, length: int | None = None
    ) -> list[list[int]]:
        """The best translation of each source, by beam search without length penalty.

        Args:
            sources: ids, each closed by EOS; all handed over at once.
            beam_size: 1 is greedy search.
            length: output tokens of each translation, exactly; None lets EOS decide.

        Returns:
            Ids without EOS.
        """
        ...


class OurContender:
    """Our search on one of our engines."""

    def __init__(self, name: str, precision: Precision, engine: Engine, workers: int = 1) -> None:
        self.name = name
        self.precision = precision
        self.engine = engine
        self.workers = workers

    def translate(
        self, sources: Sequence[Ids], beam_size: int, length: int | None = None
    ) -> list[list[int]]:
        """See `Contender`; that no translation ends before `length` is left to the model."""
        options = DecodingOptions(beam_size, NO_LENGTH_PENALTY, max_length=length)
        found = search(self.engine, sources, options, workers=self.workers)
        return [list(hypotheses[0].ids) for hypotheses in found]


def ours_onnx(
    transformer: Transformer,
    precision: Precision,
    calibration: Sequence[Ids],
    threads: int,
    shortlist: Shortlist | None = None,
) -> OurContender:
    """The engine that is served on CPUs."""
    from export.cpu_engine import cpu_engine  # parity tests of the others need no ONNX Runtime

    workers = default_workers(threads)
    engine = cpu_engine(transformer, precision, calibration, threads, workers, shortlist)
    name = "Dragoman" + (WITH_SHORTLIST if shortlist else "")
    return OurContender(name, precision, engine, workers)


def ours_pytorch(transformer: Transformer) -> OurContender:
    """The engine that evaluates checkpoints."""
    return OurContender("Dragoman on PyTorch", "fp32", TorchEngine(transformer))


def check_classic(config: ModelConfig) -> None:
    """Refuse a model that the other engines cannot hold.

    Raises:
        ConfigError: it strays from the classic architecture; the message says where.
    """
    if config.positions == "none":
        raise ConfigError(f"other engines know no {config.positions!r} positions")
    if config.encoder_attention != "full":
        raise ConfigError(f"other engines know no {config.encoder_attention!r} attention")
    if config.d_k not in (None, config.d_head):
        raise ConfigError(f"other engines know no d_k ({config.d_k}) but d_model / heads")


def position_table(transformer: Transformer) -> Tensor:
    """What the model adds to embeddings at each position that any sentence reaches: (P, D)."""
    with torch.no_grad():
        table: Tensor = transformer.positions(torch.arange(MAX_SOURCE_TOKENS + EXTRA_TOKENS))
    return table


def endless_model(config: ModelConfig, seed: int = 0) -> Transformer:
    """A model of random weights that never ends a translation by itself.

    EOS's embedding is a negative constant vector, and the decoder's last LayerNorm has the
    bias 1: whatever is normalised has mean 0, so that EOS's logit is -sqrt(D) at every step,
    while other logits have a standard deviation near 1.
    """
    torch.manual_seed(seed)
    model = Transformer(config).eval()
    last = model.decoder_layers[-1].feed_forward_residual.norm
    norm = cast(nn.LayerNorm, model.decoder_norm if config.norm == "pre" else last)
    with torch.no_grad():
        model.embedding.weight[config.eos_id] = -(config.d_model**-0.5)
        torch.nn.init.ones_(norm.bias)
    return model
