"""The TensorRT engine: fixed shapes, caches written in place, CUDA graphs."""
