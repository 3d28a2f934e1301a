"""Stands where servers of the tests look for NVIDIA's library; see `pynvml` in it."""
