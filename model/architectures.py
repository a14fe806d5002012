"""From a configuration to its model, and from a model to the engine that translates with it."""

from __future__ import annotations

from typing import cast

from model.config import ModelConfig
from model.engine import TorchEngine
from model.recurrent.engine import GruEngine
from model.recurrent.gru import GruModel
from model.transformer import Transformer
from model.translation_model import TranslationModel
from serving.engine import Engine


def build_model(config: ModelConfig) -> TranslationModel:
    """A model of that architecture with new weights."""
    return GruModel(config) if config.architecture == "gru" else Transformer(config)


def torch_engine(model: TranslationModel) -> Engine:
    """What searches with a model, on the device where its weights lie."""
    if isinstance(model, GruModel):
        return GruEngine(model)
    return TorchEngine(cast(Transformer, model))
