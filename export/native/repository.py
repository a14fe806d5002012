"""Write the portable graphs into a model repository whose translator calls them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import onnx

from export.native.config import Backend, model_config
from export.native.profile import profile
from export.onnx_graphs import Graphs
from export.plans.native import PROFILE
from serving.errors import ConfigError
from serving.triton.engines import NATIVE
from serving.triton.native_engine import DECODER_STEP, ENCODER
from serving.triton.settings import ENGINE

TRANSLATOR = "translator"
VERSION = "1"
CONFIG, MODEL, PLAN = "config.pbtxt", "model.onnx", "model.plan"
RECORD = "model.json"
"""What a plan was built of and for."""


def bundle_folder(repository: Path) -> Path:
    """Where the translator's bundle lies in a repository that can become native.

    Raises:
        ConfigError: `repository` has no translator.
    """
    if not (repository / TRANSLATOR / CONFIG).is_file():
        raise ConfigError(
            f"{repository} is no Dragoman model repository ({TRANSLATOR}/{CONFIG} is missing); "
            f"begin with a copy of the shipped one: cp -r model_repository {repository}"
        )
    return repository / TRANSLATOR / VERSION


def write_native(repository: Path, graphs: Graphs, backend: Backend) -> None:
    """Write the models `encoder` and `decoder_step`, and let the translator call them.

    Raises:
        ConfigError: `repository` has no translator.
    """
    bundle_folder(repository)
    write_model(repository / ENCODER, graphs.encoder, backend)
    write_model(repository / DECODER_STEP, graphs.decoder_step, backend)
    config = repository / TRANSLATOR / CONFIG
    text = config.read_text(encoding="utf-8")
    config.write_text(with_parameter(text, ENGINE, NATIVE), encoding="utf-8")


def write_model(folder: Path, model: onnx.ModelProto, backend: Backend) -> None:
    """Write one graph as a model of Triton's.

    For TensorRT the version's folder holds the graph and the shapes to compile it for, and is
    served once `model.plan` lies beside them. An earlier export's plan is removed.
    """
    version = folder / VERSION
    version.mkdir(parents=True, exist_ok=True)
    for name in (PLAN, RECORD, PROFILE):
        (version / name).unlink(missing_ok=True)
    onnx.save(model, version / MODEL)
    if backend == "tensorrt":
        text = json.dumps(profile(model.graph), indent=2) + "\n"
        (version / PROFILE).write_text(text, encoding="utf-8")
    (folder / CONFIG).write_text(model_config(model.graph, backend), encoding="utf-8")


def with_parameter(config: str, key: str, value: str) -> str:
    """The text of a config.pbtxt with a parameter set, in place where it has it already."""
    line = f'parameters {{ key: "{key}" value: {{ string_value: "{value}" }} }}'
    present = re.compile(rf'^parameters\s*{{\s*key:\s*"{key}".*$', re.MULTILINE)
    if present.search(config):
        return present.sub(line, config)
    return f"{config.rstrip()}\n{line}\n"
