"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017) in PyTorch.

Axes are named by one letter everywhere: B sentences, K beams, N = B x K rows,
S source length, T target length, H heads, D width, V vocabulary.
"""
