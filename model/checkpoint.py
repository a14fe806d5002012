"""Checkpoints: folders of safetensors and JSON, written whole or not at all."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor

from model.architectures import build_model
from model.config import ModelConfig
from model.transformer import Transformer
from model.translation_model import TranslationModel
from serving.errors import ConfigError, DragomanError
from serving.text import VOCABULARY, TextProcessor

WEIGHTS = "model.safetensors"
CONFIG = "model.json"
SAMPLE = "sample.txt"
"""A few source sentences, on which an export proves itself."""


def write_folder(path: Path, fill: Callable[[Path], None]) -> None:
    """Make a folder appear at `path` only when `fill` has written all of it to disk."""
    partial = path.with_name(f".{path.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    fill(partial)
    for file in partial.iterdir():
        with file.open("rb") as handle:
            os.fsync(handle.fileno())
    if path.exists():
        old = path.with_name(f".{path.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        path.rename(old)
        partial.rename(path)
        shutil.rmtree(old)
    else:
        partial.rename(path)


def save_model(folder: Path, weights: dict[str, Tensor], config: ModelConfig) -> None:
    """Write weights and configuration into an existing folder."""
    safetensors.torch.save_file(weights, folder / WEIGHTS)
    text = json.dumps(dataclasses.asdict(config), indent=2) + "\n"
    (folder / CONFIG).write_text(text, encoding="utf-8")


def load_weights(folder: Path) -> dict[str, Tensor]:
    """The weights of a checkpoint, by name.

    Raises:
        DragomanError: there is no readable checkpoint.
    """
    try:
        return safetensors.torch.load_file(folder / WEIGHTS)
    except (OSError, safetensors.SafetensorError) as error:
        raise DragomanError(f"no checkpoint can be read from {folder}: {error}") from error


def load_model(folder: Path) -> TranslationModel:
    """The model of a checkpoint, ready to translate (in evaluation mode).

    Raises:
        DragomanError: there is no readable checkpoint, or weights and configuration disagree.
    """
    try:
        values = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DragomanError(f"no checkpoint can be read from {folder}: {error}") from error
    model = build_model(ModelConfig.from_dict(values, str(folder / CONFIG)))
    begin_with(model, folder)
    return model.eval()


def begin_with(model: TranslationModel, folder: Path) -> None:
    """Give a model the weights of a checkpoint.

    Raises:
        DragomanError: there is no readable checkpoint, or it is of a model of other sizes.
    """
    fill(model, load_weights(folder), folder)


def fill(model: TranslationModel, weights: dict[str, Tensor], folder: Path) -> None:
    """Give a model these weights, which come from a folder.

    Raises:
        DragomanError: they are of a model of other sizes.
    """
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise DragomanError(f"the weights of {folder} do not fit the model: {error}") from error


def load_transformer(folder: Path) -> Transformer:
    """The same, for export and whatever else looks into the layers.

    Raises:
        ConfigError: the checkpoint holds a model of another architecture.
    """
    model = load_model(folder)
    if not isinstance(model, Transformer):
        raise ConfigError(
            f"{folder} holds a model of architecture {model.config.architecture!r}; only a "
            "transformer can be exported, served or drawn (dragoman evaluate takes any)"
        )
    return model


def load_text(folder: Path, config: ModelConfig) -> TextProcessor:
    """The vocabulary of a checkpoint.

    Raises:
        DragomanError: there is none, or it has not as many pieces as the model.
    """
    path = folder / VOCABULARY
    text = TextProcessor.load(path)
    if text.vocab_size != config.vocab_size:
        raise DragomanError(
            f"{path} has {text.vocab_size} pieces but the model {config.vocab_size}"
        )
    return text


def average_weights(folders: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of several checkpoints' weights (paper, section 6.1), summed in FP64."""
    total: dict[str, Tensor] = {}
    for folder in folders:
        for name, tensor in load_weights(folder).items():
            total[name] = total.get(name, torch.zeros(())) + tensor.double()
    return {name: (tensor / len(folders)).float() for name, tensor in total.items()}
