"""Hours of load on `dragoman serve`: nothing fails, nothing changes, nothing grows."""
