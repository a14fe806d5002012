"""A bundle: the folder that holds all that one language pair's serving needs."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from serving.atomic import replacing, write_json
from serving.confidence import Confidence
from serving.documents.numbers import Numbers
from serving.engine import EngineSpec
from serving.errors import ConfigError, check_known_keys
from serving.shortlist import SHORTLIST, Shortlist
from serving.text import VOCABULARY, TextProcessor

if TYPE_CHECKING:
    from serving.engines.aligner import Aligner
    from serving.engines.onnx import OnnxEngine

SPEC = "model.json"
ENCODER = "encoder.onnx"
DECODER_STEP = "decoder_step.onnx"
ALIGNER = "aligner.onnx"
CONFIDENCE = "confidence.json"
"""What `dragoman calibrate` learned of the model's translations; no part of an export."""

GPU_ENCODER = "gpu/encoder.onnx"
GPU_DECODER_STEP = "gpu/decoder_step.onnx"
PLANS = "gpu/plans"
"""Folder of the plans that TensorRT made of both; no part of an export."""


@dataclasses.dataclass(frozen=True)
class Bundle:
    """Graphs, specification and vocabulary of one model.

    Attributes:
        path: the folder.
        spec: the model's sizes and special ids.
        shortlist: what its step graph chooses from; None for the whole vocabulary.
        checksums: SHA-256 of each file that was exported.
        numbers: how they are written in the languages of the model; None leaves them to it.
    """

    path: Path
    spec: EngineSpec
    shortlist: Shortlist | None = None
    checksums: Mapping[str, str] = dataclasses.field(default_factory=dict)
    numbers: Numbers | None = None

    @classmethod
    def open(cls, path: Path, only: Sequence[str] = ()) -> Bundle:
        """Check that files are there and belong together, and read the specification.

        Args:
            path: the folder.
            only: names of the files that are needed, for who needs few; by default all.

        Raises:
            ConfigError: a file is missing, damaged, or from another export.
        """
        for name in (SPEC, *(only or (VOCABULARY, ENCODER, DECODER_STEP))):
            if not (path / name).is_file():
                raise ConfigError(f"{path} is no exported model: {name} is missing")
        try:
            values = json.loads((path / SPEC).read_text(encoding="utf-8"))
            spec, checksums = values.pop("engine"), values.pop("sha256")
        except (ValueError, KeyError, AttributeError) as error:
            raise ConfigError(f"{path / SPEC} is no specification: {error!r}") from error
        check_known_keys(values, ("engine", "sha256", "numbers"), str(path / SPEC))
        numbers = values.get("numbers")
        numbers = numbers and Numbers.from_dict(numbers, str(path / SPEC))
        for name in only or checksums:
            if not (path / name).is_file():
                raise ConfigError(f"{path} is no exported model: {name} is missing")
            if checksum((path / name).read_bytes()) != checksums.get(name):
                raise ConfigError(
                    f"{path / name} is not the file that was exported with {SPEC}; export again"
                )
        engine_spec = EngineSpec.from_dict(spec, str(path / SPEC))
        shortlist = None
        if SHORTLIST in checksums and not only:
            sizes = (engine_spec.vocab_size, engine_spec.eos_id)
            shortlist = Shortlist.load(path / SHORTLIST, *sizes)
        return cls(path, engine_spec, shortlist, checksums, numbers)

    def text_processor(self) -> TextProcessor:
        """The vocabulary, ready to tokenise."""
        return TextProcessor.load(self.path / VOCABULARY)

    def engine(self, threads: int = 0, workers: int = 1, profile: Path | None = None) -> OnnxEngine:
        """The graphs, ready to run.

        Args:
            threads: 0 is one a core; shared by all decoders.
            workers: decoders side by side.
            profile: see `OnnxEngine`.
        """
        from serving.engines.onnx import OnnxEngine  # tokenising needs no ONNX Runtime

        graphs = (self.path / ENCODER, self.path / DECODER_STEP)
        return OnnxEngine(*graphs, self.spec, threads, workers, profile, self.shortlist)

    def confidence(self) -> Confidence | None:
        """What `dragoman calibrate` learned of the model, if it did.

        Raises:
            ConfigError: the file cannot be read.
        """
        known = CONFIDENCE in self.checksums
        return Confidence.load(self.path / CONFIDENCE) if known else None

    def aligner(self, threads: int = 1) -> Aligner:
        """The graph that aligns words, ready to run on CPUs beside whatever engine decodes.

        Args:
            threads: of one call; few, because a call is one pass where decoding is many.

        Raises:
            ConfigError: the model was exported without one.
        """
        if ALIGNER not in self.checksums:
            raise ConfigError(
                f"{self.path} has no {ALIGNER}, which alignments need: export the model again with "
                "dragoman export"
            )
        from serving.engines.aligner import Aligner

        return Aligner(self.path / ENCODER, self.path / ALIGNER, self.spec, threads)


def find_bundle(path: Path) -> Path:
    """The bundle's folder: `path` itself, or the newest version of its `translator` model.

    Raises:
        ConfigError: neither is there.
    """
    versions = [p for p in (path / "translator").glob("*") if p.name.isdigit()]
    candidates = [path, *sorted(versions, key=lambda p: -int(p.name))]
    for candidate in candidates:
        if (candidate / SPEC).is_file():
            return candidate
    raise ConfigError(f"{path} holds no exported model (no {SPEC}); see dragoman export --help")


def manifest(
    spec: EngineSpec, contents: Mapping[str, bytes], numbers: Numbers | None = None
) -> str:
    """The text of `model.json` for these files."""
    values: dict[str, object] = {
        "engine": dataclasses.asdict(spec),
        "sha256": {name: checksum(content) for name, content in contents.items()},
    }
    if numbers:
        values["numbers"] = numbers.examples
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def add_file(folder: Path, name: str, content: bytes) -> None:
    """Put a file into a bundle that `Bundle.open` has found whole, and into its specification."""
    values = json.loads((folder / SPEC).read_text(encoding="utf-8"))
    values["sha256"][name] = checksum(content)
    with replacing(folder / name) as stream:
        stream.write(content)
    write_json(folder / SPEC, values)


def checksum(content: bytes) -> str:
    """SHA-256 as `model.json` has it."""
    return hashlib.sha256(content).hexdigest()
