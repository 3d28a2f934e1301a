"""Tests with a Jupyter server in this process."""
