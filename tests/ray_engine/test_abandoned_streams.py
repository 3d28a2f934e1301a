"""Streams that were left, where there is no Ray to ask."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

ray = pytest.importorskip("ray")

from nbaccel.handles.refs import ObjectRefGenerator  # noqa: E402  only where there is Ray
from nbaccel.ray_engine.submission import submissions  # noqa: E402
from nbaccel.ray_engine.submission.submissions import AbandonedStreams  # noqa: E402
from tests.rig import wait_until  # noqa: E402

ENGINE: Any = SimpleNamespace(close_stream=lambda stream: None)


def stream(number: int) -> ObjectRefGenerator:
    return ObjectRefGenerator(b"task %d" % number, ENGINE, number)


def _threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def test_a_stream_that_is_left_after_the_end_of_ray_starts_no_other():
    abandoned = AbandonedStreams()
    assert "nbaccel-streams" not in _threads()
    abandoned.watch(stream(1))
    kept = stream(2)
    abandoned.watch(kept)
    assert "nbaccel-streams" in _threads()
    abandoned.stop()
    assert "nbaccel-streams" not in _threads()
    assert not ray.is_initialized()
    del kept
    abandoned.stop()


def interrupt(*_event: Any) -> None:
    raise KeyboardInterrupt


def test_only_streams_without_an_end_are_ended_also_where_their_own_end_is_interrupted(monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lambda seen: None)
    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    ended: list[Any] = []
    monkeypatch.setattr(submissions, "_end", ended.extend)
    abandoned = AbandonedStreams()
    box = [stream(number) for number in range(4)]
    for each in box:
        abandoned.watch(each)
    abandoned.settle(box[1])
    del each
    before = sys.gettrace()
    sys.settrace(interrupt)
    box.clear()
    sys.settrace(before)
    wait_until(lambda: len(ended) == 3, "the streams to be ended")
    abandoned.stop()
    assert sorted(ended) == [0, 2, 3] and not abandoned._watched
