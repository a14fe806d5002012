"""Training pairs made to look like what a server is really sent: anew each epoch."""
