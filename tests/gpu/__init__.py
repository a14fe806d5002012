"""What only a GPU can show: `make gpu-check`, inside the image for GPUs."""
