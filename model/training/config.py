"""The YAML configuration of a training run."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, Literal

import yaml

from model.config import ModelConfig
from model.data.augmentation.config import AugmentationConfig
from model.data.vocabulary import VocabularyConfig
from model.evaluation import TOKENIZERS
from model.strict import load, plain
from serving.errors import ConfigError


@dataclasses.dataclass(frozen=True)
class PairFiles:
    """Two line-aligned files, plain or gzipped; relative to the working folder."""

    source: Path
    target: Path


@dataclasses.dataclass(frozen=True)
class PreparedPairs:
    """A folder that `dragoman prepare` wrote; relative to the working folder."""

    prepared: Path


@dataclasses.dataclass(frozen=True)
class OptimisationConfig:
    """How the weights are learned; defaults are the paper's (section 5).

    Attributes:
        steps: optimiser steps of the whole run.
        batch_tokens: padded tokens of a batch, on each side.
        accumulate: batches whose gradients make one step, over all processes together: so a
            run may go on with another number of processes.
        max_length: pairs with more tokens on a side are left out.
        warmup: steps of rising learning rate.
        peak_rate: rate at the end of warm-up; null for the paper's (d_model * warmup)^-0.5.
        label_smoothing: weight of the uniform distribution.
        clip_norm: largest norm of the gradient.
        precision: `bf16` and `fp16` multiply in 16 bits and keep weights and sums in FP32;
            `fp16` scales the loss and needs a GPU.
        compile: let torch.compile fuse the model; the first steps then take minutes.
    """

    steps: int = 100_000
    batch_tokens: int = 4096
    accumulate: int = 1
    max_length: int = 200
    warmup: int = 4000
    peak_rate: float | None = None
    label_smoothing: float = 0.1
    clip_norm: float = 1.0
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    compile: bool = False

    def __post_init__(self) -> None:
        for name in ("steps", "batch_tokens", "accumulate", "warmup"):
            if getattr(self, name) < 1:
                raise ConfigError(f"optimisation.{name} must be at least 1")


@dataclasses.dataclass(frozen=True)
class CheckpointConfig:
    """When to write checkpoints (in steps), and how many make the average."""

    every: int = 1000
    average: int = 5

    def __post_init__(self) -> None:
        if self.every < 1 or self.average < 1:
            raise ConfigError("checkpoints.every and checkpoints.average must be at least 1")


@dataclasses.dataclass(frozen=True)
class ValidationConfig:
    """When and on how many sentences to validate; `best` goes by their BLEU.

    Attributes:
        every: steps between validations.
        sentences: the first so many of the set are translated.
        beam_size: K.
        length_penalty: alpha.
        tokenize: see `model.evaluation.score`.
        remove_bpe: see there.
    """

    every: int = 1000
    sentences: int = 1000
    beam_size: int = 4
    length_penalty: float = 0.6
    tokenize: str = "13a"
    remove_bpe: bool = False

    def __post_init__(self) -> None:
        if self.tokenize not in TOKENIZERS:
            raise ConfigError(
                f"validation.tokenize must be one of {', '.join(TOKENIZERS)}, not {self.tokenize!r}"
            )


@dataclasses.dataclass(frozen=True)
class TrainingConfig:
    """A whole run: what is read, what is learned, where it goes.

    Attributes:
        output: the run's folder.
        train: pairs to learn from; those of a prepared folder come with its vocabulary.
        validation_set: pairs to validate on.
        initial: a checkpoint whose weights and vocabulary the run begins with; null draws new
            ones.
        initial_vocabulary: false learns a new vocabulary all the same; pieces that the
            checkpoint has, too, begin with its embeddings.
        seed: of weights, order and dropout.
        threads: CPU threads a process; null for one a core.
        device: `auto` takes a GPU if there is one.
    """

    output: Path
    train: PairFiles | PreparedPairs
    validation_set: PairFiles
    initial: Path | None = None
    initial_vocabulary: bool = True
    seed: int = 1
    threads: int | None = None
    device: Literal["auto", "cpu", "cuda"] = "auto"
    vocabulary: VocabularyConfig = dataclasses.field(default_factory=VocabularyConfig)
    augmentation: AugmentationConfig = dataclasses.field(default_factory=AugmentationConfig)
    model: ModelConfig = dataclasses.field(default_factory=ModelConfig)
    optimisation: OptimisationConfig = dataclasses.field(default_factory=OptimisationConfig)
    checkpoints: CheckpointConfig = dataclasses.field(default_factory=CheckpointConfig)
    validation: ValidationConfig = dataclasses.field(default_factory=ValidationConfig)

    def __post_init__(self) -> None:
        if isinstance(self.train, PreparedPairs):
            _check_prepared_vocabulary(self.vocabulary)
            if self.augmentation.any or self.initial:
                raise ConfigError(
                    "augmentation and initial change or tokenise the text anew, which "
                    "train.prepared has not; take train.source and train.target"
                )
        if self.model.vocab_size != self.vocabulary.size:
            fixed = dataclasses.replace(self.model, vocab_size=self.vocabulary.size)
            object.__setattr__(self, "model", fixed)

    def text_pairs(self) -> PairFiles:
        """The training pairs as text, for what has no use for prepared ones.

        Raises:
            ConfigError: they are a prepared folder.
        """
        if isinstance(self.train, PreparedPairs):
            raise ConfigError("this command needs train.source and train.target, not prepared")
        return self.train

    @classmethod
    def load(cls, path: Path) -> TrainingConfig:
        """Read a YAML file.

        Raises:
            ConfigError: the file cannot be read, or a key or value is wrong.
        """
        return load(cls, path)

    def save(self, path: Path) -> None:
        """Write the resolved configuration as YAML that `load` reads."""
        path.write_text(yaml.safe_dump(plain(self), sort_keys=False), encoding="utf-8")


def _check_prepared_vocabulary(vocabulary: VocabularyConfig) -> None:
    if vocabulary.dropout:
        raise ConfigError(
            "vocabulary.dropout tokenises the text anew each epoch, which train.prepared has "
            "not; leave it out, or take train.source and train.target"
        )
    for name in ("type", "placeholders"):
        if getattr(vocabulary, name) != getattr(VocabularyConfig, name):
            raise ConfigError(f"vocabulary.{name} is decided by dragoman prepare; leave it out")


CHANGEABLE = ("output", "threads", "device", "checkpoints.", "validation.", "optimisation.steps")
"""What may change when a run is resumed; all else would make it another run."""


def check_resumable(before: TrainingConfig, now: TrainingConfig) -> None:
    """Refuse to resume a run under a configuration that is another run's.

    Raises:
        ConfigError: names each key that differs.
    """
    old, new = flat(plain(before)), flat(plain(now))
    changed = [
        f"{key}: {old.get(key)!r} -> {new.get(key)!r}"
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key) and not key.startswith(CHANGEABLE)
    ]
    if changed:
        raise ConfigError(
            f"{now.output} holds a run of another configuration ({'; '.join(changed)}); "
            "choose another output, or remove that folder to start again"
        )


def flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested plain values by dotted key, such as `model.heads`."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            found.update(flat(value, f"{prefix}{key}."))
        else:
            found[prefix + key] = value
    return found
