"""Whether our source calls only what TensorRT's and CUDA's real bindings have."""
