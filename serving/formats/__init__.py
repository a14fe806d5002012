"""Files that are translated: each format gives the texts in it and writes them back."""
