"""Where a run keeps its checkpoints, and which of them a resumed run starts from."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor

from model.checkpoint import SAMPLE, average_weights, load_weights, save_model, write_folder
from model.config import ModelConfig
from model.training.learner import Learner
from model.translation_model import TranslationModel
from serving.text import VOCABULARY

OPTIMISER = "optimiser.safetensors"
STATE = "state.json"


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes:
        step: optimiser steps done.
        epoch: epoch of the next step, from 0.
        group: place of the next step in that epoch.
        best_bleu: of the validations so far.
        seconds: spent in training steps.
        tokens: target tokens trained on.
    """

    step: int = 0
    epoch: int = 0
    group: int = 0
    best_bleu: float = -1.0
    seconds: float = 0.0
    tokens: int = 0


class RunFolder:
    """The output folder of a run: `checkpoints/step-N`, `best`, `averaged`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.yaml"
        self.vocabulary = path / VOCABULARY
        self.sample = path / SAMPLE
        self.tensorboard = path / "tensorboard"
        self._checkpoints = path / "checkpoints"
        self._checkpoints.mkdir(parents=True, exist_ok=True)

    def checkpoint(self, step: int) -> Path:
        """Folder of that step's checkpoint."""
        return self._checkpoints / f"step-{step:08d}"

    def steps(self) -> list[int]:
        """Steps with a checkpoint, in order."""
        return sorted(int(p.name.removeprefix("step-")) for p in self._checkpoints.glob("step-*"))

    def save(self, learner: Learner, now: Progress) -> None:
        """Write the checkpoint that a resumed run goes on from."""
        model = learner.model

        def fill(folder: Path) -> None:
            save_model(folder, model.state_dict(), model.config)
            moments = _moments(learner.optimiser, model)
            safetensors.torch.save_file(moments, folder / OPTIMISER)
            state = {**dataclasses.asdict(now), "scaler": learner.scaler.state_dict()}
            text = json.dumps(state, indent=2) + "\n"
            (folder / STATE).write_text(text, encoding="utf-8")

        write_folder(self.checkpoint(now.step), fill)

    def restore(self, learner: Learner) -> Progress:
        """Load the newest checkpoint into the learner; without one, change nothing."""
        steps = self.steps()
        if not steps:
            return Progress()
        folder = self.checkpoint(steps[-1])
        learner.model.load_state_dict(load_weights(folder))
        moments = safetensors.torch.load_file(folder / OPTIMISER)
        _restore_moments(learner.optimiser, learner.model, moments)
        state = json.loads((folder / STATE).read_text(encoding="utf-8"))
        learner.scaler.load_state_dict(state.pop("scaler", {}))
        return Progress(**state)

    def prune(self, every: int, average: int) -> None:
        """Keep the newest checkpoint, and the weights of those that will be averaged."""
        steps = self.steps()
        kept = {*[s for s in steps if s % every == 0][-average:], *steps[-1:]}
        for step in steps:
            if step not in kept:
                shutil.rmtree(self.checkpoint(step))
            elif step != steps[-1]:
                (self.checkpoint(step) / OPTIMISER).unlink(missing_ok=True)

    def publish(self, name: str, weights: dict[str, Tensor], config: ModelConfig) -> Path:
        """Write a self-contained model (weights, configuration, vocabulary, sample) as `name`."""

        def fill(folder: Path) -> None:
            save_model(folder, weights, config)
            shutil.copyfile(self.vocabulary, folder / VOCABULARY)
            shutil.copyfile(self.sample, folder / SAMPLE)

        write_folder(self.path / name, fill)
        return self.path / name

    def publish_average(self, config: ModelConfig, every: int, average: int) -> Path | None:
        """Write the mean of the last regular checkpoints as `averaged`, if there are any."""
        regular = [step for step in self.steps() if step % every == 0][-average:]
        if not regular:
            return None
        weights = average_weights([self.checkpoint(step) for step in regular])
        return self.publish("averaged", weights, config)


def _moments(optimiser: torch.optim.Optimizer, model: TranslationModel) -> dict[str, Tensor]:
    """Adam's state as named tensors: `<kind>/<parameter>`."""
    return {
        f"{kind}/{name}": tensor
        for name, parameter in model.named_parameters()
        for kind, tensor in optimiser.state[parameter].items()
    }


def _restore_moments(
    optimiser: torch.optim.Optimizer, model: TranslationModel, moments: dict[str, Tensor]
) -> None:
    parameters = dict(model.named_parameters())
    for key, tensor in moments.items():
        kind, name = key.split("/", 1)
        parameter = parameters[name]
        optimiser.state[parameter][kind] = tensor.to(parameter.device)
