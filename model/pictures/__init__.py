"""Pictures of what a model attends to, as a web page and as PNG files."""
