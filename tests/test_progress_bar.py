"""The bar counts refs as they become ready, whoever's thread says so, and closes after the last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbaccel.waits.progress_bar import follow


class FakeBar:
    def __init__(self) -> None:
        self.count = 0.0
        self.closed = 0

    def update(self, n: float = 1) -> None:
        self.count += n

    def close(self) -> None:
        self.closed += 1


class FakeEngine:
    """Keeps the callbacks until a test says that a ref is ready."""

    def __init__(self) -> None:
        self.callbacks: dict[Any, Callable[[], None]] = {}

    def call_when_ready(self, ref: Any, callback: Callable[[], None]) -> None:
        self.callbacks[ref] = callback


def test_the_bar_moves_with_each_ref_and_closes_after_the_last() -> None:
    engine, bar = FakeEngine(), FakeBar()
    follow(["a", "b"], bar, engine.call_when_ready)
    engine.callbacks["b"]()
    assert (bar.count, bar.closed) == (1, 0)
    engine.callbacks["a"]()
    assert (bar.count, bar.closed) == (2, 1)


def test_no_refs_are_done_at_once() -> None:
    bar = FakeBar()
    follow([], bar, FakeEngine().call_when_ready)
    assert bar.closed == 1


def test_refs_that_are_ready_already_count() -> None:
    bar = FakeBar()
    follow([1, 2, 3], bar, lambda ref, callback: callback())
    assert (bar.count, bar.closed) == (3, 1)
