"""ONNX's reference evaluator as a device: FP16 is computed in FP16, and every value is watched.

ONNX Runtime computes FP16 in FP32 on CPUs, which hides what overflows on a GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from export.gpu.onnx_device import OnnxDevice
from export.gpu.types import value_types
from export.onnx_graphs import Graphs
from serving.engine import EngineSpec, Ids
from serving.engines.gpu.decoder import FixedDecoder
from serving.engines.gpu.shapes import EncoderShape, Shapes, StepPlan
from serving.engines.names import cache_names, cross_names


class ReferenceEngine:
    """See `serving.engine.Engine`; very slow.

    Attributes:
        not_finite: names of values that were infinite or no number.
        largest: of any FP16 value.
    """

    def __init__(self, graphs: Graphs, spec: EngineSpec, shapes: Shapes) -> None:
        self.spec = spec
        self.device = ReferenceDevice(graphs, spec, shapes)

    def decoder(self) -> FixedDecoder:
        return FixedDecoder(self.device, self.spec)


class ReferenceDevice(OnnxDevice):
    def __init__(self, graphs: Graphs, spec: EngineSpec, shapes: Shapes) -> None:
        super().__init__(graphs, spec, shapes)
        self._reference = [_Watched(g) for g in (graphs.encoder, graphs.decoder_step)]

    @property
    def not_finite(self) -> set[str]:
        return set().union(*(graph.not_finite for graph in self._reference))

    @property
    def largest(self) -> float:
        return max(graph.largest for graph in self._reference)

    def encode(self, shape: EncoderShape, source: Ids, lengths: Ids) -> None:
        padded = np.full((shape.sentences, shape.length), self._spec.pad_id, dtype=np.int32)
        padded[: source.shape[0], : source.shape[1]] = source
        counts = np.ones(shape.sentences, dtype=np.int32)
        counts[: len(lengths)] = lengths
        found = self._reference[0].run({"source": padded, "lengths": counts})
        self._encoded = [found[name] for name in cross_names(self._spec.decoder_layers)]

    def launch(self, plan: StepPlan, sentences: int) -> None:
        board, layers = self._boards[plan], self._spec.decoder_layers
        feed = {name: array[:sentences] for name, array in board.inputs._asdict().items()}
        feed |= dict(zip(cross_names(layers), board.cross[:, :sentences], strict=True))
        feed |= dict(zip(cache_names(layers, "past"), board.cache[:, :sentences], strict=True))
        found = self._reference[1].run(feed)
        for name, array in zip(cache_names(layers, "present"), board.cache, strict=True):
            array[:sentences] = found[name]
        for name, array in board.outputs._asdict().items():
            array[:sentences] = found[name]


class GatherElements(OpRun):
    """ONNX's own evaluator fails where an axis is longer than 32."""

    op_domain = ""

    def _run(self, data: Any, indices: Any, axis: int = 0) -> tuple[NDArray[Any]]:
        return (np.take_along_axis(data, indices, axis=axis),)


class _Watched:
    """A graph that gives all its values."""

    def __init__(self, model: onnx.ModelProto) -> None:
        watched = onnx.ModelProto()
        watched.CopyFrom(model)
        types = value_types(model)
        known = {value.name for value in watched.graph.output}
        made = [name for node in watched.graph.node for name in node.output if name]
        for name in made:
            if name not in known:
                value = onnx.helper.make_tensor_value_info(name, types[name], None)
                watched.graph.output.append(value)
        self._names = [value.name for value in watched.graph.output]
        self._evaluator = ReferenceEvaluator(watched, new_ops=[GatherElements])
        self.not_finite: set[str] = set()
        self.largest = 0.0

    def run(self, feed: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        found = dict(zip(self._names, self._evaluator.run(None, feed), strict=True))
        for name, values in found.items():
            if values.dtype in (np.float16, np.float32):
                if not np.isfinite(values).all():
                    self.not_finite.add(name)
                if values.dtype == np.float16 and values.size:
                    self.largest = max(self.largest, float(np.abs(values).max()))
        return found
