"""The TensorRT engine with ONNX Runtime in place of the GPU, see `tests.parity.fake_gpu`."""

from __future__ import annotations

from export.onnx_graphs import Graphs
from serving.engine import EngineSpec
from serving.engines.gpu.cuda import Cuda
from serving.engines.gpu.shapes import ENCODER_PLAN, EncoderShape, Shapes, StepPlan
from serving.engines.gpu.tensorrt import TensorRtDevice, TensorRtEngine
from tests.parity.fake_gpu import FakeCudart, FakeTensorRt, fake_plan

SMALL_SHAPES = Shapes(
    encoder=(
        EncoderShape(1, 4),
        EncoderShape(3, 4),
        EncoderShape(2, 16),
        EncoderShape(1, 80),
    ),
    step=(
        StepPlan(2, 4, (1, 2, 5)),
        StepPlan(2, 16, (2, 5)),
        StepPlan(2, 80, (5,)),
        StepPlan(5, 4, (1, 3, 12)),
        StepPlan(5, 16, (4, 12)),
        StepPlan(5, 80, (2, 12)),
        StepPlan(8, 80, (4,)),
    ),
)
"""So small that sentences soon outgrow them, leave gaps and come in several groups."""


def gpu_engine(
    graphs: Graphs,
    spec: EngineSpec,
    shapes: Shapes = SMALL_SHAPES,
    cudart: FakeCudart | None = None,
    cuda_graphs: bool = True,
) -> TensorRtEngine:
    cudart = cudart or FakeCudart()
    step = graphs.decoder_step.SerializeToString()
    plans = {plan.name: fake_plan(step, plan) for plan in shapes.step}
    plans[ENCODER_PLAN] = fake_plan(graphs.encoder.SerializeToString(), shapes.encoder)
    trt = FakeTensorRt(cudart)
    device = TensorRtDevice(trt, Cuda(cudart), spec, shapes, plans, graphs=cuda_graphs)
    return TensorRtEngine(device, spec)
