"""The Triton model that stands for the usual way: a Python backend around CTranslate2."""
