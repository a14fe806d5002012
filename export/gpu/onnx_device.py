"""A device of fixed shapes that is ONNX Runtime on a CPU: to prove the graphs for GPUs here."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from export.onnx_graphs import Graphs
from serving.engine import EngineSpec, Ids
from serving.engines.gpu.decoder import FixedDecoder
from serving.engines.gpu.device import EDIT_ROOM, StepInputs, StepOutputs
from serving.engines.gpu.shapes import DEFAULT_SHAPES, EncoderShape, Shapes, StepPlan
from serving.engines.names import cache_names, cross_names


class FixedEngine:
    """The graphs for GPUs on a CPU; see `serving.engine.Engine`. Far from fast."""

    def __init__(self, graphs: Graphs, spec: EngineSpec, shapes: Shapes = DEFAULT_SHAPES) -> None:
        self.spec = spec
        self._device = OnnxDevice(graphs, spec, shapes)

    def decoder(self) -> FixedDecoder:
        """A new decoder with nothing in flight; the one before must not be used any more."""
        return FixedDecoder(self._device, self.spec)


class _Board(NamedTuple):
    """A step plan's memory: keys and values are (arrays, slots, H, W, D/H)."""

    inputs: StepInputs
    outputs: StepOutputs
    cross: NDArray[Any]
    cache: NDArray[Any]


class OnnxDevice:
    """See `serving.engines.gpu.device.Device`. Everything is done at once."""

    def __init__(self, graphs: Graphs, spec: EngineSpec, shapes: Shapes) -> None:
        self.shapes = shapes
        self._spec = spec
        self._encoder, self._step = (
            onnxruntime.InferenceSession(
                graph.SerializeToString(), providers=["CPUExecutionProvider"]
            )
            for graph in (graphs.encoder, graphs.decoder_step)
        )
        half = self._encoder.get_outputs()[0].type == "tensor(float16)"
        self._dtype = np.float16 if half else np.float32
        self._boards = {plan: self._board(plan) for plan in shapes.step}
        self._encoded: list[NDArray[Any]] = []

    def begin(self) -> None:
        """Nothing: any thread may use it."""

    def inputs(self, plan: StepPlan) -> StepInputs:
        """A board's inputs."""
        return self._boards[plan].inputs

    def outputs(self, plan: StepPlan) -> StepOutputs:
        """A board's outputs."""
        return self._boards[plan].outputs

    def encode(self, shape: EncoderShape, source: Ids, lengths: Ids) -> None:
        """Encode padded ids (up to B, up to S) of lengths (up to B,)."""
        padded = np.full((shape.sentences, shape.length), self._spec.pad_id, dtype=np.int32)
        padded[: source.shape[0], : source.shape[1]] = source
        counts = np.ones(shape.sentences, dtype=np.int32)
        counts[: len(lengths)] = lengths
        names = cross_names(self._spec.decoder_layers)
        self._encoded = self._encoder.run(names, {"source": padded, "lengths": counts})

    def place(self, shape: EncoderShape, index: int, plan: StepPlan, slot: int) -> None:  # noqa: ARG002
        """A sentence of the last `encode` takes a slot."""
        for target, encoded in zip(self._boards[plan].cross, self._encoded, strict=True):
            target[slot] = encoded[index]

    def move(self, plan: StepPlan, source: int, target: int) -> None:
        """A sentence changes its slot."""
        self.grow(plan, source, plan, target)

    def grow(self, plan: StepPlan, source: int, longer: StepPlan, target: int) -> None:
        """A sentence goes to a longer board."""
        here, there = self._boards[plan], self._boards[longer]
        there.cross[:, target, :, : plan.length] = here.cross[:, source]
        there.cache[:, target, :, : plan.columns] = here.cache[:, source]

    def launch(self, plan: StepPlan, sentences: int) -> None:
        """Run one step over the first slots."""
        board, layers = self._boards[plan], self._spec.decoder_layers
        binding = self._step.io_binding()
        inputs = {name: array[:sentences] for name, array in board.inputs._asdict().items()}
        inputs |= dict(zip(cross_names(layers), board.cross[:, :sentences], strict=True))
        for name, array in inputs.items():
            binding.bind_ortvalue_input(name, _value(array))
        names = zip(cache_names(layers, "past"), cache_names(layers, "present"), strict=True)
        for (past, present), array in zip(names, board.cache[:, :sentences], strict=True):
            value = _value(array)
            binding.bind_ortvalue_input(past, value)
            binding.bind_ortvalue_output(present, value)
        for name, array in board.outputs._asdict().items():
            binding.bind_ortvalue_output(name, _value(array[:sentences]))
        self._step.run_with_iobinding(binding)

    def wait(self) -> None:
        """Nothing: all is done."""

    def _board(self, plan: StepPlan) -> _Board:
        spec, most = self._spec, plan.sentences[-1]
        rows = (most, plan.beams)
        inputs = StepInputs(
            token=np.zeros(rows, dtype=np.int32),
            position=np.zeros(most, dtype=np.int32),
            write=np.zeros(most, dtype=np.int64),
            lengths=np.ones(most, dtype=np.int32),
            visible=np.zeros((most, 1, plan.beams, plan.columns), dtype=np.bool_),
            edit_id=np.zeros((*rows, EDIT_ROOM), dtype=np.int32),
            edit_factor=np.ones((*rows, EDIT_ROOM), dtype=np.float32),
            edit_addend=np.zeros((*rows, EDIT_ROOM), dtype=np.float32),
        )
        outputs = StepOutputs(
            log_prob=np.zeros((*rows, spec.candidates), dtype=np.float32),
            candidate=np.zeros((*rows, spec.candidates), dtype=np.int32),
            edited=np.zeros((*rows, EDIT_ROOM), dtype=np.float32),
        )
        return _Board(inputs, outputs, *(self._stack(most, n) for n in (plan.length, plan.columns)))

    def _stack(self, slots: int, width: int) -> NDArray[Any]:
        spec = self._spec
        shape = (2 * spec.decoder_layers, slots, spec.heads, width, spec.d_head)
        return np.zeros(shape, dtype=self._dtype)


def _value(array: NDArray[Any]) -> Any:
    return onnxruntime.OrtValue.ortvalue_from_numpy(array)
