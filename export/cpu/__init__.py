"""The graphs for ONNX Runtime on CPUs: the same modules, with its own operators inside.

`model` knows nothing of them: layers say how sub-layers are connected, and what is here says how
they attend, multiply and select (see `DecoderLayer.connect`).
"""
