"""From ONNX graphs to TensorRT plans.

TensorRT's module is passed in as `trt`, so that the same code builds with `tensorrt` on a GPU and
with `tensorrt_rtx` in tests, which needs none. Neither PyTorch nor `model` nor `onnx` is needed.
"""
