"""The native layout without a server: configurations, settings, and calls of a stand-in."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from export.native.config import model_config
from export.native.profile import profile
from export.native.repository import bundle_folder, with_parameter, write_model
from serving.engine import Demand, Edits, EngineSpec
from serving.errors import ConfigError
from serving.triton.engines import chosen_engine
from serving.triton.native_engine import COLUMNS, SENTENCES, NativeEngine, NativeModelError

SPEC = EngineSpec(9, 9, decoder_layers=1, heads=2, d_head=4, pad_id=0, start_id=1, eos_id=2)
VALUES = [
    helper.make_tensor_value_info("ids", TensorProto.INT64, ["B", "S"]),
    helper.make_tensor_value_info("lengths", TensorProto.INT32, ["B"]),
    helper.make_tensor_value_info("mask", TensorProto.BOOL, ["B", 1, "S"]),
    helper.make_tensor_value_info("half", TensorProto.FLOAT16, ["N_before", 2, "T", 4]),
    helper.make_tensor_value_info("score", TensorProto.FLOAT, [16]),
]
WEIGHT = helper.make_tensor("weight", TensorProto.FLOAT, [1], [1.0])
CONFIG = """\
max_batch_size: 0
input [
  { name: "ids" data_type: TYPE_INT64 dims: [ -1, -1 ] },
  { name: "lengths" data_type: TYPE_INT32 dims: [ -1 ] },
  { name: "mask" data_type: TYPE_BOOL dims: [ -1, 1, -1 ] },
  { name: "half" data_type: TYPE_FP16 dims: [ -1, 2, -1, 4 ] },
  { name: "score" data_type: TYPE_FP32 dims: [ 16 ] }
]
output [
  { name: "score" data_type: TYPE_FP32 dims: [ 16 ] }
]
"""


def graph(inputs: list[Any] = VALUES) -> onnx.GraphProto:
    weight = helper.make_tensor_value_info("weight", TensorProto.FLOAT, [1])
    return helper.make_graph([], "g", [*inputs, weight], VALUES[-1:], [WEIGHT])


@pytest.mark.parametrize(
    ("backend", "head"),
    [("onnxruntime", 'backend: "onnxruntime"'), ("tensorrt", 'platform: "tensorrt_plan"')],
)
def test_a_configuration_says_every_type_and_shape(backend: Any, head: str) -> None:
    comment, _, text = model_config(graph(), backend).partition("\n")
    assert f"dragoman export --native {backend}" in comment
    assert text == f"{head}\n{CONFIG}"


def test_triton_reads_the_configuration() -> None:
    from google.protobuf import text_format  # type: ignore[import-untyped]
    from tritonclient.grpc import model_config_pb2

    config = text_format.Parse(model_config(graph(), "tensorrt"), model_config_pb2.ModelConfig())
    assert config.platform == "tensorrt_plan"
    assert [list(tensor.dims) for tensor in config.input][:2] == [[-1, -1], [-1]]


def test_a_type_that_no_graph_should_have_is_refused() -> None:
    double = helper.make_tensor_value_info("double", TensorProto.DOUBLE, ["B"])
    with pytest.raises(ConfigError, match="double is of type DOUBLE"):
        model_config(graph([double]), "onnxruntime")


def test_a_profile_has_a_range_for_every_free_axis() -> None:
    assert profile(graph()) == {
        "B": [1, 8, SENTENCES],
        "S": [1, 32, 1000],
        "N_before": [1, 32, 8 * SENTENCES],
        "T": [1, 32, COLUMNS],
    }
    unknown = helper.make_tensor_value_info("ids", TensorProto.INT64, ["B", "Q"])
    with pytest.raises(ConfigError, match="ids has a free axis 'Q'; known: B, K"):
        profile(graph([unknown]))


def test_an_earlier_plan_does_not_survive_an_export(tmp_path: Path) -> None:
    model = helper.make_model(graph())
    for backend, files in (
        ("tensorrt", ["model.onnx", "profile.json"]),
        ("onnxruntime", ["model.onnx"]),
    ):
        write_model(tmp_path, model, backend)  # type: ignore[arg-type]
        assert sorted(file.name for file in (tmp_path / "1").iterdir()) == files
        (tmp_path / "1/model.plan").write_bytes(b"of this export")


def test_a_parameter_is_set_in_place_or_added() -> None:
    line = 'parameters { key: "engine" value: { string_value: "native" } }'
    other = '# parameters { key: "engine" }\nparameters { key: "rows" }'
    present = line.replace("native", "onnxruntime")
    assert with_parameter(f"{present}\n{other}\n", "engine", "native") == f"{line}\n{other}\n"
    assert with_parameter(f"{other}\n", "engine", "native") == f"{other}\n{line}\n"


def test_a_repository_without_a_translator_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cp -r model_repository"):
        bundle_folder(tmp_path)


class Request:
    """A call that is answered with zeros of the shapes of `SHAPES`, or fails."""

    def __init__(self, model_name: str, requested_output_names: list[str], **rest: Any) -> None:
        self.name, self.outputs, self.rest = model_name, requested_output_names, rest

    def exec(self) -> Request:
        CALLS.append(self)
        return self

    def has_error(self) -> bool:
        return self.name == "broken"

    def error(self) -> Any:
        return SimpleNamespace(message=lambda: "out of memory")

    def output_tensors(self) -> list[Any]:
        return [_tensor(name, np.zeros((1, 2, 3, 4), dtype=np.float16)) for name in self.outputs]


def _tensor(name: str, array: Any) -> Any:
    return SimpleNamespace(name=lambda: name, as_numpy=lambda: array)


CALLS: list[Request] = []
TRITON: Any = SimpleNamespace(
    Tensor=_tensor,
    InferenceRequest=Request,
    PreferredMemory=lambda kind: kind,
    TRITONSERVER_MEMORY_CPU="cpu",
)


def test_models_are_called_by_the_names_of_the_settings() -> None:
    bundle: Any = SimpleNamespace(spec=SPEC)
    settings = {"engine": "native", "encoder": "encoder_de", "decoder_step": "step_de"}
    engine, *_ = chosen_engine(TRITON, bundle, settings, gpu=0)
    assert isinstance(engine, NativeEngine)
    CALLS.clear()
    memory = engine.encode(np.ones((1, 3), dtype=np.int64), np.array([3]))
    one = np.zeros(1, dtype=np.int64)
    engine.step(memory, None, one, one, one, Edits.none(1))
    assert [call.name for call in CALLS] == ["encoder_de", "step_de"]
    assert {call.rest["preferred_memory"] for call in CALLS} == {"cpu"}
    step = {tensor.name(): tensor.as_numpy() for tensor in CALLS[1].rest["inputs"]}
    assert step["past_key.0"].shape == (1, 2, 1, 4), "no tensor is empty"
    assert step["past_key.0"].dtype == np.float16, "the cache is of the graphs' type"
    assert step["token"].shape == (1, 1)
    assert step["edit_id"].shape == (1, 1, 1)


def test_a_failure_names_the_model_and_the_reason() -> None:
    engine = NativeEngine(TRITON, SPEC, encoder="broken")
    with pytest.raises(NativeModelError, match="the model 'broken' failed: out of memory"):
        engine.encode(np.ones((1, 3), dtype=np.int64), np.array([3]))


def test_no_more_sentences_than_plans_are_compiled_for() -> None:
    decoder = NativeEngine(TRITON, SPEC).decoder()
    demands = [Demand(3, 4, 53)] * SENTENCES
    assert all(map(decoder.room(), demands))
    assert not all(map(decoder.room(), [*demands, demands[0]]))
    decoder.join(np.ones((1, 3), dtype=np.int64), demands[:1])
    assert not all(map(decoder.room(), demands))
