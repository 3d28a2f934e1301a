"""Tests of the accelerators room."""
