"""The graphs that TensorRT compiles: fixed caches written in place, FP32 or FP16."""
