"""The few calls of the CUDA runtime that the engine makes, with errors as exceptions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from serving.errors import DragomanError


class Cuda:
    """One GPU and one stream of it, through NVIDIA's `cuda.bindings.runtime`.

    Memory is kept until the process ends: an engine lives as long as its model.

    Args:
        cudart: the module.
        device: which GPU, from 0.

    Raises:
        DragomanError: any call failed; the message says which and why.
    """

    def __init__(self, cudart: Any, device: int = 0) -> None:
        self._cudart = cudart
        self._device = device
        self.begin()
        flags = cudart.cudaStreamNonBlocking
        self._stream = self._checked("a stream", cudart.cudaStreamCreateWithFlags(flags))

    @property
    def stream(self) -> int:
        """The stream's handle, as TensorRT takes it."""
        return int(self._stream)

    def begin(self) -> None:
        """The calling thread works with this GPU; CUDA keeps that for each thread."""
        self._checked(f"GPU {self._device}", self._cudart.cudaSetDevice(self._device))

    def device_memory(self, size: int) -> int:
        """The address of so many bytes on the GPU, all zero."""
        cudart = self._cudart
        what = f"{size / 2**20:.0f} MiB of GPU memory (fewer shapes take less)"
        address = int(self._checked(what, cudart.cudaMalloc(max(1, size))))
        self._checked(what, cudart.cudaMemsetAsync(address, 0, size, self._stream))
        return address

    def pinned(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array in host memory that the GPU reads and writes by itself, all zero."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        what = f"{size} bytes of pinned memory"
        address = int(self._checked(what, self._cudart.cudaMallocHost(max(1, size))))
        block = (ctypes.c_byte * size).from_address(address)
        array: NDArray[Any] = np.ndarray(shape, dtype, buffer=memoryview(block))
        array[...] = 0
        return array

    def upload(self, array: NDArray[Any], address: int, size: int) -> None:
        """Copy the first bytes of a pinned array to the GPU."""
        kind = self._cudart.cudaMemcpyKind.cudaMemcpyHostToDevice
        self._copy(address, array.ctypes.data, size, kind)

    def download(self, address: int, array: NDArray[Any], size: int) -> None:
        """Copy bytes of the GPU into the beginning of a pinned array."""
        kind = self._cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost
        self._copy(array.ctypes.data, address, size, kind)

    def copy_lines(
        self, target: int, target_pitch: int, source: int, source_pitch: int, width: int, lines: int
    ) -> None:
        """Copy lines of `width` bytes, each `pitch` bytes after the last, within the GPU."""
        kind = self._cudart.cudaMemcpyKind.cudaMemcpyDeviceToDevice
        place = (target, target_pitch, source, source_pitch)
        done = self._cudart.cudaMemcpy2DAsync(*place, width, lines, kind, self._stream)
        self._checked("copying on the GPU", done)

    def wait(self) -> None:
        """Until all that was asked for is done."""
        done = self._cudart.cudaStreamSynchronize(self._stream)
        self._checked("waiting for the GPU", done)

    def capture(self, work: Callable[[], None]) -> Callable[[], None]:
        """Record what `work` asks for as a CUDA graph; returns what launches it."""
        cudart = self._cudart
        mode = cudart.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
        self._checked("capturing", cudart.cudaStreamBeginCapture(self._stream, mode))
        work()
        graph = self._checked("capturing", cudart.cudaStreamEndCapture(self._stream))
        what = "making a CUDA graph"
        executable = self._checked(what, cudart.cudaGraphInstantiate(graph, 0))
        self._checked(what, cudart.cudaGraphDestroy(graph))

        def launch() -> None:
            done = cudart.cudaGraphLaunch(executable, self._stream)
            self._checked("launching a CUDA graph", done)

        return launch

    def _copy(self, target: int, source: int, size: int, kind: Any) -> None:
        done = self._cudart.cudaMemcpyAsync(target, source, size, kind, self._stream)
        self._checked("copying to or from the GPU", done)

    def _checked(self, what: str, answer: tuple[Any, ...]) -> Any:
        """What a call returned beside its error, if there was none."""
        error, *values = answer
        if error != self._cudart.cudaError_t.cudaSuccess:
            raise DragomanError(f"CUDA refused {what}: {error_text(self._cudart, error)}")
        return values[0] if values else None


def error_text(cudart: Any, error: Any) -> str:
    """What CUDA says of an error."""
    _, text = cudart.cudaGetErrorString(error)
    return text.decode() if isinstance(text, bytes) else str(text)
