"""What it costs that the graphs are models of Triton's, called at every step."""
