"""Waiting with a deadline while somebody watches whether the head is there."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

ray = pytest.importorskip("ray")


def test_a_wait_is_never_back_before_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray counts whole milliseconds and may answer a little early: it is asked again for what is left."""
    from nbaccel.ray_engine import session

    now, asked = 100.0, list[float]()
    monkeypatch.setattr(session, "time", SimpleNamespace(monotonic=lambda: now))

    def early(seconds: float) -> None:
        nonlocal now
        asked.append(seconds)
        now += seconds - 0.0008
        raise ray.exceptions.GetTimeoutError

    with pytest.raises(ray.exceptions.GetTimeoutError):
        session.HeadWatch(("127.0.0.1", 1), print, print).patiently(early, 0.0123)
    assert now >= 100.0123
    assert asked == [0.013, 0.001]


def test_a_wait_without_time_looks_once() -> None:
    from nbaccel.ray_engine.session import HeadWatch

    asked: list[float] = []

    def nothing_yet(seconds: float) -> None:
        asked.append(seconds)
        raise ray.exceptions.GetTimeoutError

    with pytest.raises(ray.exceptions.GetTimeoutError):
        HeadWatch(("127.0.0.1", 1), print, print).patiently(nothing_yet, 0)
    assert asked == [0]
