"""What the models of the Triton repository call; all of it runs without Triton, in tests.

Triton gives its module `triton_python_backend_utils` only to a model's own process, so the
model's file passes that module in (see `interface`).
"""
