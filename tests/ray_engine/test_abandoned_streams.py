"""Streams that were left, where there is no Ray to ask."""

from __future__ import annotations

import threading

import pytest

ray = pytest.importorskip("ray")

from nbaccel.ray_engine.submission.abandoned_streams import AbandonedStreams  # noqa: E402  only where there is Ray


def _threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def test_a_stream_that_is_left_after_the_end_of_ray_starts_no_other():
    abandoned = AbandonedStreams()
    assert "nbaccel-streams" not in _threads()
    abandoned.expect()
    abandoned.expect()
    assert "nbaccel-streams" in _threads()
    abandoned.left(object())
    abandoned.stop()
    assert "nbaccel-streams" not in _threads()
    assert not ray.is_initialized()
    abandoned.left(object())
    abandoned.stop()
