"""Which engine the translator runs on: its settings, and the environment before them."""

from __future__ import annotations

import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from serving.engine import EngineSpec
from serving.errors import ConfigError, DragomanError
from serving.triton import engines
from serving.triton.engines import CPU_SHARE, chosen_engine
from serving.triton.native_engine import NativeEngine
from serving.triton.settings import instance_gpu, model_settings

SPEC = EngineSpec(90, 16, 2, 4, 8, 0, 1, 2)
ON_CPUS = SimpleNamespace(name="ONNX Runtime")
BUNDLE: Any = SimpleNamespace(spec=SPEC, engine=lambda *_: ON_CPUS)
TRITON: Any = SimpleNamespace()


def test_onnx_runtime_is_the_default() -> None:
    for settings in ({}, {"engine": "onnxruntime"}):
        engine, workers, share = chosen_engine(TRITON, BUNDLE, {**settings, "workers": "3"}, 0)
        assert (engine, workers, share) == (ON_CPUS, 3, CPU_SHARE)


def test_native_calls_models_of_the_server() -> None:
    settings = {"engine": "native", "workers": "2"}
    engine, workers, share = chosen_engine(TRITON, BUNDLE, settings, 0)
    assert isinstance(engine, NativeEngine)
    assert (workers, share) == (2, CPU_SHARE)


def test_an_unknown_engine_is_told() -> None:
    message = "engine must be one of onnxruntime, tensorrt, native, not 'tpu'"
    with pytest.raises(ConfigError, match=message):
        chosen_engine(TRITON, BUNDLE, {"engine": "tpu"}, 0)
    with pytest.raises(ConfigError, match="fallback must be one of none, onnxruntime"):
        chosen_engine(TRITON, BUNDLE, {"fallback": "tensorrt"}, 0)


def broken(*_: Any) -> Any:
    raise DragomanError("no GPU can be used here")


def test_tensorrt_falls_back_only_when_told_to(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(engines, "tensorrt_engine", broken)
    settings = {"engine": "tensorrt"}
    with pytest.raises(DragomanError, match="no GPU can be used here"):
        chosen_engine(TRITON, BUNDLE, settings, 0)
    with caplog.at_level(logging.WARNING):
        engine, *_ = chosen_engine(TRITON, BUNDLE, {**settings, "fallback": "onnxruntime"}, 0)
    assert engine is ON_CPUS
    assert "TensorRT is not used, ONNX Runtime is: no GPU can be used here" in caplog.text


def test_tensorrt_has_one_decoder_on_the_instances_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def opened(*words: Any) -> Any:
        asked.append(words)
        return ON_CPUS

    monkeypatch.setattr(engines, "tensorrt_engine", opened)
    settings = {"engine": "tensorrt", "plans": "/plans", "threads": "8"}
    assert chosen_engine(TRITON, BUNDLE, settings, 3) == (ON_CPUS, 1, None)
    _, plans, gpu = asked[0]
    assert (str(plans), gpu) == ("/plans", 3)
    with pytest.raises(ConfigError, match="workers must be 1 with TensorRT"):
        chosen_engine(TRITON, BUNDLE, {**settings, "workers": "2"}, 0)


def test_the_instance_names_its_gpu() -> None:
    given = {"model_instance_kind": "GPU", "model_instance_device_id": "2"}
    assert instance_gpu(given) == 2
    assert instance_gpu({**given, "model_instance_kind": "CPU"}) == 0
    assert instance_gpu({}) == 0


def test_the_environment_goes_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = {"engine": {"string_value": "onnxruntime"}, "rows": {"string_value": "64"}}
    arguments = {
        "model_name": "translator",
        "model_config": json.dumps({"parameters": parameters}),
    }
    known = ("bundle", "engine", "rows", "plans")
    monkeypatch.setenv("DRAGOMAN_ENGINE", "tensorrt")
    monkeypatch.setenv("DRAGOMAN_PLANS", "/plans")
    monkeypatch.setenv("DRAGOMAN_ROWS", "")
    monkeypatch.setenv("DRAGOMAN_WORKERS", "7")  # unknown to this model
    monkeypatch.setenv("DRAGOMAN_BUNDLE", "elsewhere")  # the file's alone
    assert model_settings(arguments, known) == {
        "engine": "tensorrt",
        "rows": "64",
        "plans": "/plans",
    }
