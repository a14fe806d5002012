"""Starts NVIDIA's tritonserver, watches over it and stops it cleanly."""
