"""Tests on a real accelerator."""
