"""One server of the same model three ways: its own engine, and the native layout's models."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench.native.stand_in import let_python_stand_in
from bench.served.own_repository import SHIPPED
from export.bundle_writer import write_bundle
from export.cpu_engine import precise_graphs
from export.native.repository import CONFIG, VERSION, bundle_folder, with_parameter, write_model
from export.onnx_graphs import Graphs
from model.engine import engine_spec
from model.transformer import Transformer
from serving.triton.engines import NATIVE, ONNXRUNTIME
from serving.triton.native_engine import DECODER_STEP, ENCODER
from serving.triton.settings import BUNDLE, ENGINE, WORKERS

OWN, THROUGH_BLS = "translator", "translator_native"
"""Models of the server: the default engine in the translator's process, and the native one."""


def write_repository(repository: Path, model: Transformer, graphs: Graphs) -> None:
    """Write both translators, each with one worker, and the models that one of them calls."""
    _write_translator(repository, OWN, ONNXRUNTIME, VERSION)
    write_model(repository / ENCODER, graphs.encoder, "onnxruntime")
    write_model(repository / DECODER_STEP, graphs.decoder_step, "onnxruntime")
    let_python_stand_in(repository)
    _write_translator(repository, THROUGH_BLS, NATIVE, f"../{OWN}/{VERSION}")
    vocabulary = repository / "unused"
    vocabulary.write_bytes(b"requests are ids")
    bundle = bundle_folder(repository)
    write_bundle(bundle, precise_graphs(model, "fp32", ()), engine_spec(model), vocabulary)
    vocabulary.unlink()


def _write_translator(repository: Path, name: str, engine: str, bundle: str) -> None:
    version = repository / name / VERSION
    version.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(SHIPPED / VERSION / "model.py", version / "model.py")
    text = (SHIPPED / CONFIG).read_text(encoding="utf-8")
    for key, value in ((ENGINE, engine), (BUNDLE, bundle), (WORKERS, "1")):
        text = with_parameter(text, key, value)
    (repository / name / CONFIG).write_text(text, encoding="utf-8")
