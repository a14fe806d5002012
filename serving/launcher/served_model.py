"""The models of a running server, and which of ours they are."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from serving.launcher.endpoint import Endpoint
from serving.launcher.repository_api import RepositoryApi

CONFIG_TIMEOUT_SECONDS = 5.0


class Interface(enum.Enum):
    """What a model takes and gives; a server may hold several of each, under any names."""

    PREPROCESS = ({"text"}, {"ids", "lengths"})
    TRANSLATOR = ({"ids", "lengths"}, {"hypothesis_ids", "hypothesis_lengths"})
    POSTPROCESS = ({"hypothesis_ids", "hypothesis_lengths"}, {"translation"})
    STREAM = ({"text"}, {"translation", "index"})

    def __init__(self, inputs: set[str], outputs: set[str]) -> None:
        self.inputs = inputs
        self.outputs = outputs


@dataclass(frozen=True)
class ServedModel:
    """One model; `steps` are the models that an ensemble calls."""

    name: str
    is_python: bool
    inputs: frozenset[str]
    outputs: frozenset[str]
    steps: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: dict[str, Any]) -> ServedModel:
        """Return the model of a configuration, in Triton's JSON."""
        steps = config.get("ensemble_scheduling", {}).get("step", [])
        return cls(
            name=config["name"],
            is_python=config.get("backend") == "python",
            inputs=frozenset(tensor["name"] for tensor in config.get("input", [])),
            outputs=frozenset(tensor["name"] for tensor in config.get("output", [])),
            steps=tuple(step["model_name"] for step in steps),
        )

    @property
    def interface(self) -> Interface | None:
        """Which of our models this is; None for any other, of which nothing more is known."""
        if not self.is_python:
            return None
        for one in Interface:
            if one.inputs <= self.inputs and one.outputs <= self.outputs:
                return one
        return None

    @property
    def translates_text(self) -> bool:
        """Whether this is an ensemble that takes a text and gives its translation."""
        return bool(self.steps) and "text" in self.inputs and "translation" in self.outputs


def served_models(api: RepositoryApi, endpoint: Endpoint) -> dict[str, ServedModel]:
    """Return the loaded models by name; raises one of `endpoint.FAULTS` when there is no answer."""
    names = api.names()
    configs = (endpoint.json(f"/v2/models/{n}/config", CONFIG_TIMEOUT_SECONDS) for n in names)
    return {model.name: model for model in map(ServedModel.of, configs)}
