"""The TensorRT engine: plans, boards in GPU memory, one CUDA graph for each shape.

Neither TensorRT nor CUDA is imported here: both modules are passed in, so that everything but
the GPU's own arithmetic runs in tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from serving.engine import EngineSpec, Ids
from serving.engines.gpu.cuda import Cuda
from serving.engines.gpu.decoder import FixedDecoder
from serving.engines.gpu.device import EDIT_ROOM, StepInputs, StepOutputs
from serving.engines.gpu.program import Port, Program
from serving.engines.gpu.shapes import ENCODER_PLAN, EncoderShape, Shapes, StepPlan
from serving.engines.gpu.stack import Stack
from serving.engines.names import EDITS, cache_names, cross_names
from serving.errors import ConfigError

_FLOATS = ("log_prob", "edited", "edit_factor", "edit_addend")
"""What crosses in FP32."""


class TensorRtEngine:
    """A translation model on one GPU; see `serving.engine.Engine`."""

    def __init__(self, device: TensorRtDevice, spec: EngineSpec) -> None:
        self.spec = spec
        self._device = device

    def decoder(self) -> FixedDecoder:
        """A new decoder with nothing in flight; the one before must not be used any more."""
        return FixedDecoder(self._device, self.spec)


class _Board(NamedTuple):
    """A step plan's memory and its programs by the number of sentences."""

    inputs: StepInputs
    outputs: StepOutputs
    cross: Stack
    cache: Stack
    programs: dict[int, Program]


class _Encoder(NamedTuple):
    """What one shape of the encoder reads and writes."""

    source: Any
    lengths: Any
    cross: Stack
    program: Program


class TensorRtDevice:
    """One model's plans on one GPU; see `serving.engines.gpu.device.Device`."""

    def __init__(
        self,
        trt: Any,
        cuda: Cuda,
        spec: EngineSpec,
        shapes: Shapes,
        plans: Mapping[str, bytes],
        graphs: bool = True,
    ) -> None:
        """Load all plans, reserve all memory, and capture a CUDA graph for each shape.

        Args:
            trt: the module `tensorrt`.
            plans: by name; see `StepPlan.name` and `ENCODER_PLAN`.
            graphs: launch CUDA graphs rather than call by call.

        Raises:
            ConfigError: a plan does not load or does not fit; the message says what to do.
            DragomanError: CUDA refuses something, such as memory.
        """
        self.shapes = shapes
        self._trt, self._cuda, self._spec = trt, cuda, spec
        self._logger = trt.Logger(trt.Logger.WARNING)
        self._runtime = trt.Runtime(self._logger)
        self._engines = {name: self._load(name, plan) for name, plan in plans.items()}
        self._item = self._item_bytes(self._engines[ENCODER_PLAN])
        self._encoders = {s: self._encoder(n, s) for n, s in enumerate(shapes.encoder)}
        self._boards = {plan: self._board(plan) for plan in shapes.step}
        if graphs:
            self._capture()

    def begin(self) -> None:
        """The calling thread works with this GPU from now on."""
        self._cuda.begin()

    def inputs(self, plan: StepPlan) -> StepInputs:
        """A board's inputs."""
        return self._boards[plan].inputs

    def outputs(self, plan: StepPlan) -> StepOutputs:
        """A board's outputs."""
        return self._boards[plan].outputs

    def encode(self, shape: EncoderShape, source: Ids, lengths: Ids) -> None:
        """Encode padded ids (up to B, up to S) of lengths (up to B,)."""
        encoder = self._encoders[shape]
        self._cuda.wait()  # an upload may still read what is written here
        encoder.source[...] = self._spec.pad_id
        encoder.source[: source.shape[0], : source.shape[1]] = source
        encoder.lengths[...] = 1
        encoder.lengths[: len(lengths)] = lengths
        encoder.program.launch()

    def place(self, shape: EncoderShape, index: int, plan: StepPlan, slot: int) -> None:
        """A sentence of the last `encode` takes a slot."""
        self._encoders[shape].cross.copy_to(self._cuda, index, self._boards[plan].cross, slot)

    def move(self, plan: StepPlan, source: int, target: int) -> None:
        """A sentence changes its slot."""
        self.grow(plan, source, plan, target)

    def grow(self, plan: StepPlan, source: int, longer: StepPlan, target: int) -> None:
        """A sentence goes to a longer board."""
        here, there = self._boards[plan], self._boards[longer]
        here.cross.copy_to(self._cuda, source, there.cross, target)
        here.cache.copy_to(self._cuda, source, there.cache, target)

    def launch(self, plan: StepPlan, sentences: int) -> None:
        """Run one step over the first slots."""
        self._boards[plan].programs[sentences].launch()

    def wait(self) -> None:
        """Until all is done."""
        self._cuda.wait()

    def _load(self, name: str, plan: bytes) -> Any:
        engine = self._runtime.deserialize_cuda_engine(plan)
        if engine is None:
            raise ConfigError(f"TensorRT cannot load the plan {name}; its log says why")
        return engine

    def _item_bytes(self, engine: Any) -> int:
        """Of one key or value: 2 in FP16, 4 in FP32."""
        dtype = engine.get_tensor_dtype(cross_names(1)[0])
        return np.dtype(self._trt.nptype(dtype)).itemsize

    def _stack(self, slots: int, width: int) -> Stack:
        spec = self._spec
        head_bytes = width * spec.d_head * self._item
        return Stack.allocate(self._cuda, 2 * spec.decoder_layers, slots, spec.heads, head_bytes)

    def _port(self, name: str, shape: tuple[int, ...], dtype: Any) -> Port:
        array = self._cuda.pinned(shape, dtype)
        return Port(name, array, self._cuda.device_memory(array.nbytes))

    def _encoder(self, profile: int, shape: EncoderShape) -> _Encoder:
        size = (shape.sentences, shape.length)
        ports = [
            self._port("source", size, np.int32),
            self._port("lengths", size[:1], np.int32),
        ]
        ports[1].array[...] = 1
        cross = self._stack(*size)
        names = cross_names(self._spec.decoder_layers)
        program = Program(
            self._cuda,
            self._engines[ENCODER_PLAN],
            profile,
            {"source": size, "lengths": size[:1]},
            (ports, ()),
            {name: cross.array(n) for n, name in enumerate(names)},
        )
        return _Encoder(ports[0].array, ports[1].array, cross, program)

    def _board(self, plan: StepPlan) -> _Board:
        spec, most = self._spec, plan.sentences[-1]
        sizes = self._sizes(plan, most)
        types = {"write": np.int64, "visible": np.bool_} | dict.fromkeys(_FLOATS, np.float32)
        ports = {n: self._port(n, s, types.get(n, np.int32)) for n, s in sizes.items()}
        ins, outs = list(StepInputs._fields), list(StepOutputs._fields)
        inputs = StepInputs(*(ports[name].array for name in ins))
        inputs.lengths[...] = 1
        inputs.visible[...] = True
        inputs.edit_factor[...] = 1
        outputs = StepOutputs(*(ports[name].array for name in outs))
        cross, cache = self._stack(most, plan.length), self._stack(most, plan.columns)
        resident = {n: cross.array(i) for i, n in enumerate(cross_names(spec.decoder_layers))}
        for kind in ("past", "present"):  # one place: TensorRT writes it in place
            names = cache_names(spec.decoder_layers, kind)
            resident |= {name: cache.array(i) for i, name in enumerate(names)}
        crossing = ([ports[n] for n in ins], [ports[n] for n in outs])
        engine = self._engines[plan.name]
        programs = {}
        for profile, count in enumerate(plan.sentences):
            shapes = self._sizes(plan, count) | self._resident_sizes(plan, count)
            programs[count] = Program(self._cuda, engine, profile, shapes, crossing, resident)
        return _Board(inputs, outputs, cross, cache, programs)

    def _sizes(self, plan: StepPlan, count: int) -> dict[str, tuple[int, ...]]:
        """Shapes of what crosses, for so many sentences."""
        beams = plan.beams
        return {
            "token": (count, beams),
            "position": (count,),
            "write": (count,),
            "lengths": (count,),
            "visible": (count, 1, beams, plan.columns),
            "log_prob": (count, beams, self._spec.candidates),
            "candidate": (count, beams, self._spec.candidates),
            **dict.fromkeys((*EDITS, "edited"), (count, beams, EDIT_ROOM)),
        }

    def _resident_sizes(self, plan: StepPlan, count: int) -> dict[str, tuple[int, ...]]:
        """Shapes of the inputs that stay on the GPU."""
        spec = self._spec
        layers = spec.decoder_layers
        wide = dict.fromkeys(cross_names(layers), plan.length)
        wide |= dict.fromkeys(cache_names(layers, "past"), plan.columns)
        return {name: (count, spec.heads, width, spec.d_head) for name, width in wide.items()}

    def _capture(self) -> None:
        for encoder in self._encoders.values():
            encoder.program.capture()
        for board in self._boards.values():
            for program in board.programs.values():
                program.capture()
