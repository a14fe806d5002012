"""What a preparation is to do: the same plan gives the same bytes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from model.data.prepare.checksums import sha256_of_all
from model.data.prepare.cleaning import CleaningRules
from model.data.prepare.inputs import Input
from model.data.vocabulary import VocabularyConfig
from model.strict import plain
from serving.errors import ConfigError


@dataclasses.dataclass(frozen=True)
class Options:
    """Choices of a preparation.

    Attributes:
        cleaning: limits of a pair.
        vocabulary: how pieces are learned, or the SentencePiece model that has them.
        sample_pairs: pairs, drawn at random, that the pieces are learned from at most.
        seed: of that draw.
        skip_invalid: remove pairs that are not UTF-8 or not two columns, instead of stopping.
        shard_pairs: pairs between two points where an interrupted preparation can go on.
    """

    cleaning: CleaningRules = dataclasses.field(default_factory=CleaningRules)
    vocabulary: VocabularyConfig | Path = dataclasses.field(default_factory=VocabularyConfig)
    sample_pairs: int = 500_000
    seed: int = 1
    skip_invalid: bool = False
    shard_pairs: int = 50_000

    def __post_init__(self) -> None:
        for name in ("sample_pairs", "shard_pairs"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name.replace('_', '-')} must be at least 1")


@dataclasses.dataclass(frozen=True)
class Plan:
    """Everything that decides what is written.

    Attributes:
        inputs: pairs, in this order.
        excluded: files of lines that no pair may hold.
        options: choices.
    """

    inputs: Sequence[Input]
    excluded: Sequence[Path] = ()
    options: Options = dataclasses.field(default_factory=Options)

    def __post_init__(self) -> None:
        if not self.inputs:
            raise ConfigError("no pairs are given; name files of them or a corpus (see --help)")

    def seal(self) -> dict[str, Any]:
        """The plan as plain values, with the SHA-256 of every file that it reads.

        Raises:
            DragomanError: a file cannot be read.
        """
        vocabulary = self.options.vocabulary
        files = [path for source in self.inputs for path in source.files]
        files += [*self.excluded, *([vocabulary] if isinstance(vocabulary, Path) else [])]
        options = {
            "inputs": [plain(source) for source in self.inputs],
            "exclude": [str(path) for path in self.excluded],
            **plain(self.options),
        }
        return {"options": options, "sha256": sha256_of_all(files)}


def check_same(before: dict[str, Any], now: dict[str, Any], output: Path) -> None:
    """Refuse to go on in a folder that was begun with another plan.

    Args:
        before: the seal of the plan that it was begun with.
        now: the seal of this one.
        output: the folder.

    Raises:
        ConfigError: names the options and files that differ.
    """
    old, new = before["options"], now["options"]
    changed = [
        f"{key}: {old.get(key)!r} -> {new.get(key)!r}"
        for key in {**old, **new}
        if old.get(key) != new.get(key)
    ]
    changed += [
        f"{name} has changed"
        for name, digest in now["sha256"].items()
        if before["sha256"].get(name, digest) != digest
    ]
    if changed:
        raise ConfigError(
            f"{output} was begun otherwise ({'; '.join(changed)}); "
            "choose another output, or remove that folder to start again"
        )
