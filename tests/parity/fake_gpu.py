"""Stand-ins for a GPU: CUDA's runtime over host memory, TensorRT's over ONNX Runtime.

They are as lazy and as strict as the real ones may be: nothing of a stream is done before
somebody waits for it, so that host memory that is written too early shows; fresh memory is full
of NaN; every copy must lie within allocations of the right kind.
"""

from __future__ import annotations

import ctypes
import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from serving.engines.gpu.shapes import EncoderShape, StepPlan

Work = Callable[[], None]
TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
}


class FakeCudart:
    """What `serving.engines.gpu.cuda` uses of `cuda.bindings.runtime`."""

    class cudaError_t:  # noqa: N801
        cudaSuccess = 0  # noqa: N815

    class cudaMemcpyKind:  # noqa: N801
        cudaMemcpyHostToDevice = "to device"  # noqa: N815
        cudaMemcpyDeviceToHost = "to host"  # noqa: N815
        cudaMemcpyDeviceToDevice = "on device"  # noqa: N815

    class cudaStreamCaptureMode:  # noqa: N801
        cudaStreamCaptureModeThreadLocal = 1  # noqa: N815

    cudaStreamNonBlocking = 1  # noqa: N815

    def __init__(self, memory_limit: int = 2**40) -> None:
        self.launched_graphs = 0
        self.executed = 0
        self._limit = memory_limit
        self._memory: dict[bool, dict[int, Any]] = {True: {}, False: {}}
        """Allocations by whether they are the device's, by address."""
        self._queue: list[Work] = []
        self._capture: list[Work] | None = None

    def cudaSetDevice(self, device: int) -> tuple[int]:  # noqa: N802
        return (0 if device == 0 else 101,)

    def cudaGetErrorString(self, error: int) -> tuple[int, bytes]:  # noqa: N802
        return 0, {2: b"out of memory", 101: b"invalid device ordinal"}[error]

    def cudaStreamCreateWithFlags(self, flags: int) -> tuple[int, int]:  # noqa: N802
        return 0, 7

    def cudaMalloc(self, size: int) -> tuple[int, int | None]:  # noqa: N802
        return self._allocate(size, device=True)

    def cudaMallocHost(self, size: int) -> tuple[int, int | None]:  # noqa: N802
        return self._allocate(size, device=False)

    def cudaMemsetAsync(self, address: int, value: int, size: int, stream: int) -> tuple[int]:  # noqa: N802
        self.check(address, size, device=True)
        return self._do(lambda: _discard(ctypes.memset(address, value, size)))

    def cudaMemcpyAsync(  # noqa: N802
        self, target: int, source: int, size: int, kind: str, stream: int
    ) -> tuple[int]:
        return self.cudaMemcpy2DAsync(target, size, source, size, size, 1, kind, stream)

    def cudaMemcpy2DAsync(  # noqa: N802
        self,
        target: int,
        target_pitch: int,
        source: int,
        source_pitch: int,
        width: int,
        height: int,
        kind: str,
        stream: int,
    ) -> tuple[int]:
        assert 0 < width <= min(target_pitch, source_pitch)
        self.check(target, (height - 1) * target_pitch + width, device=kind != "to host")
        self.check(source, (height - 1) * source_pitch + width, device=kind != "to device")

        def copy() -> None:
            for line in range(height):
                ctypes.memmove(target + line * target_pitch, source + line * source_pitch, width)

        return self._do(copy)

    def cudaStreamSynchronize(self, stream: int) -> tuple[int]:  # noqa: N802
        assert self._capture is None, "waiting within a capture"
        queue, self._queue = self._queue, []
        for work in queue:
            work()
        return (0,)

    def cudaStreamBeginCapture(self, stream: int, mode: int) -> tuple[int]:  # noqa: N802
        assert self._capture is None
        self._capture = []
        return (0,)

    def cudaStreamEndCapture(self, stream: int) -> tuple[int, list[Work]]:  # noqa: N802
        assert self._capture
        captured, self._capture = self._capture, None
        return 0, captured

    def cudaGraphInstantiate(self, graph: list[Work], flags: int) -> tuple[int, list[Work]]:  # noqa: N802
        return 0, list(graph)

    def cudaGraphDestroy(self, graph: list[Work]) -> tuple[int]:  # noqa: N802
        graph.clear()
        return (0,)

    def cudaGraphLaunch(self, executable: list[Work], stream: int) -> tuple[int]:  # noqa: N802
        self.launched_graphs += 1
        for work in executable:
            self._do(work)
        return (0,)

    @property
    def reserved(self) -> int:
        """Bytes of device memory."""
        return sum(len(block) for block in self._memory[True].values())

    def check(self, address: int, size: int, device: bool) -> None:
        for start, block in self._memory[device].items():
            if start <= address and address + size <= start + len(block):
                return
        raise AssertionError(f"{size} bytes are in no {'device' if device else 'pinned'} memory")

    def execute(self, work: Work) -> bool:
        def counted() -> None:
            self.executed += 1
            work()

        self._do(counted)
        return True

    def _allocate(self, size: int, device: bool) -> tuple[int, int | None]:
        if device and self.reserved + size > self._limit:
            return 2, None
        block = (ctypes.c_byte * size)()
        ctypes.memset(block, 0xFF, size)
        address = ctypes.addressof(block)
        self._memory[device][address] = block
        return 0, address

    def _do(self, work: Work) -> tuple[int]:
        (self._queue if self._capture is None else self._capture).append(work)
        return (0,)


def _discard(_: object) -> None:
    pass


class FakeTensorRt:
    """What `serving.engines.gpu.tensorrt` uses of `tensorrt`. A plan is a graph with profiles."""

    class Logger:
        WARNING = 2

        def __init__(self, level: int) -> None: ...

    def __init__(self, cudart: FakeCudart) -> None:
        self._cudart = cudart

    def Runtime(self, logger: Logger) -> FakeRuntime:  # noqa: N802
        return FakeRuntime(self._cudart)

    def nptype(self, dtype: Any) -> Any:
        return dtype


class FakeRuntime:
    def __init__(self, cudart: FakeCudart) -> None:
        self._cudart = cudart

    def deserialize_cuda_engine(self, plan: bytes) -> FakeEngine | None:
        return None if plan == b"bad" else FakeEngine(self._cudart, *pickle.loads(plan))


class FakeEngine:
    def __init__(self, cudart: FakeCudart, graph: bytes, profiles: list[dict[str, Any]]) -> None:
        self.cudart, self.profiles = cudart, profiles
        self.session = _session(graph)
        self.inputs = {i.name: TYPES[i.type] for i in self.session.get_inputs()}
        self.outputs = {o.name: TYPES[o.type] for o in self.session.get_outputs()}
        self._names: list[str] = [*self.inputs, *self.outputs]

    @property
    def num_io_tensors(self) -> int:
        return len(self._names)

    def get_tensor_name(self, index: int) -> str:
        return self._names[index]

    def get_tensor_dtype(self, name: str) -> Any:
        return {**self.inputs, **self.outputs}[name]

    def create_execution_context(self) -> FakeContext:
        return FakeContext(self)


class FakeContext:
    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self._profile: dict[str, Any] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._addresses: dict[str, int] = {}

    def set_optimization_profile_async(self, index: int, stream: int) -> bool:
        if index >= len(self._engine.profiles):
            return False
        self._profile = self._engine.profiles[index]
        return True

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        self._shapes[name] = shape
        return tuple(self._profile[name]) == shape

    def set_tensor_address(self, name: str, address: int) -> bool:
        self._addresses[name] = address
        return True

    def infer_shapes(self) -> list[str]:
        return [name for name in self._engine.inputs if name not in self._shapes]

    def execute_async_v3(self, stream: int) -> bool:
        return self._engine.cudart.execute(self._run)

    def _run(self) -> None:
        engine = self._engine
        feed = {
            name: self._array(name, self._shapes[name], dtype).copy()
            for name, dtype in engine.inputs.items()
        }
        found = engine.session.run(list(engine.outputs), feed)
        for name, values in zip(engine.outputs, found, strict=True):
            self._array(name, values.shape, values.dtype)[...] = values

    def _array(self, name: str, shape: Sequence[int], dtype: Any) -> NDArray[Any]:
        size, address = math.prod(shape) * np.dtype(dtype).itemsize, self._addresses[name]
        self._engine.cudart.check(address, size, device=True)
        block = (ctypes.c_byte * size).from_address(address)
        return np.ndarray(tuple(shape), dtype, buffer=memoryview(block))


def _session(graph: bytes) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # it warns that caches are copied
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def fake_plan(graph: bytes, shapes: Sequence[EncoderShape] | StepPlan) -> bytes:
    """A plan of the encoder or of a step, with the profiles that `dragoman compile` gives it."""
    session = _session(graph)
    if isinstance(shapes, StepPlan):
        sizes: list[Mapping[str, int]] = [
            {"B": b, "K": shapes.beams, "S": shapes.length, "L": shapes.columns}
            for b in shapes.sentences
        ]
    else:
        sizes = [{"B": shape.sentences, "S": shape.length} for shape in shapes]
    profiles = [
        {i.name: tuple(size.get(a, a) for a in i.shape) for i in session.get_inputs()}
        for size in sizes
    ]
    return pickle.dumps((graph, profiles))
