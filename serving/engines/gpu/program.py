"""One plan at one shape: an execution context, what it reads and writes, its CUDA graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from serving.engines.gpu.cuda import Cuda
from serving.errors import ConfigError


class Port(NamedTuple):
    """An input or output that crosses between host and GPU.

    Attributes:
        name: the tensor's.
        array: in pinned memory, for the plan's largest shape.
        address: on the GPU.
    """

    name: str
    array: NDArray[Any]
    address: int


class Program:
    """Runs one shape of a plan: uploads its inputs, executes, downloads its outputs."""

    def __init__(
        self,
        cuda: Cuda,
        engine: Any,
        profile: int,
        sizes: Mapping[str, Sequence[int]],
        ports: tuple[Sequence[Port], Sequence[Port]],
        resident: Mapping[str, int],
    ) -> None:
        """Make the context.

        Args:
            engine: the plan, as TensorRT loaded it.
            profile: which of its optimisation profiles.
            sizes: the shape of every input, and of every output that is downloaded.
            ports: inputs and outputs that cross.
            resident: addresses of the other tensors, which stay on the GPU.

        Raises:
            ConfigError: the plan has other tensors or shapes.
        """
        self._cuda = cuda
        self._context = engine.create_execution_context()
        if self._context is None:
            raise ConfigError("TensorRT could not make a context; is there enough GPU memory?")
        self._uploads, self._downloads = (
            [(port, _bytes(port, sizes[port.name])) for port in side] for side in ports
        )
        addresses = {**resident, **{p.name: p.address for side in ports for p in side}}
        names = {engine.get_tensor_name(i) for i in range(engine.num_io_tensors)}
        if names != set(addresses):
            wrong = ", ".join(sorted(names ^ set(addresses)))
            raise ConfigError(f"a plan and its engine disagree on tensors: {wrong}; compile again")
        self._prepare(profile, sizes, addresses)
        self._launch = self.enqueue

    def capture(self) -> None:
        """Launch as a CUDA graph from now on; the inputs must be harmless."""
        self.enqueue()  # TensorRT prepares what a capture cannot hold
        self._cuda.wait()
        self._launch = self._cuda.capture(self.enqueue)

    def launch(self) -> None:
        """Run, by the CUDA graph if there is one."""
        self._launch()

    def enqueue(self) -> None:
        """Run, call by call."""
        for port, size in self._uploads:
            self._cuda.upload(port.array, port.address, size)
        if not self._context.execute_async_v3(self._cuda.stream):
            raise ConfigError("TensorRT refused to run a plan; its log says why")
        for port, size in self._downloads:
            self._cuda.download(port.address, port.array, size)

    def _prepare(
        self,
        profile: int,
        sizes: Mapping[str, Sequence[int]],
        addresses: Mapping[str, int],
    ) -> None:
        context = self._context
        if not context.set_optimization_profile_async(profile, self._cuda.stream):
            raise ConfigError(f"a plan has no profile {profile}; compile again")
        self._cuda.wait()
        outputs = {port.name for port, _ in self._downloads}
        for name, size in sizes.items():
            if name not in outputs and not context.set_input_shape(name, tuple(size)):
                raise ConfigError(f"a plan takes no {name} of shape {tuple(size)}; compile again")
        for name, address in addresses.items():
            if not context.set_tensor_address(name, address):
                raise ConfigError(f"TensorRT refused the address of {name}")
        missing = context.infer_shapes()
        if missing:
            raise ConfigError(f"a plan lacks the shapes of {', '.join(missing)}; compile again")


def _bytes(port: Port, size: Sequence[int]) -> int:
    total = port.array.itemsize
    for axis in size:
        total *= axis
    return total
