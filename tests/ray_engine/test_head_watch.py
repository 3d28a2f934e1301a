"""Waiting with a deadline while somebody watches whether the head is there."""

from __future__ import annotations

import time

import pytest

ray = pytest.importorskip("ray")


def test_a_wait_is_never_back_before_its_time() -> None:
    """Ray counts whole milliseconds and may answer a little early: it is asked again for what is left."""
    from nbaccel.ray_engine.startup.head_watch import HeadWatch

    asked: list[float] = []

    def early(seconds: float) -> None:
        asked.append(seconds)
        raise ray.exceptions.GetTimeoutError

    start = time.monotonic()
    with pytest.raises(ray.exceptions.GetTimeoutError):
        HeadWatch(("127.0.0.1", 1), print, print).patiently(early, 0.0123)
    assert time.monotonic() - start >= 0.0123
    assert asked[0] == 0.013


def test_a_wait_without_time_looks_once() -> None:
    from nbaccel.ray_engine.startup.head_watch import HeadWatch

    asked: list[float] = []

    def nothing_yet(seconds: float) -> None:
        asked.append(seconds)
        raise ray.exceptions.GetTimeoutError

    with pytest.raises(ray.exceptions.GetTimeoutError):
        HeadWatch(("127.0.0.1", 1), print, print).patiently(nothing_yet, 0)
    assert asked == [0]
