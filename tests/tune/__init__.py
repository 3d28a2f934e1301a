"""Tests of nbaccel.tune."""
