"""From a checkpoint to files that an engine runs, each proven equal to PyTorch."""
