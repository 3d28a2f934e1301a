"""Waiting for refs and streams together."""

from __future__ import annotations

import threading
import time
from typing import Any

from nbaccel.engine import Engine
from nbaccel.handles.remote import ObjectRefGenerator
from nbaccel.waits import interruptible


def wait_mixed(
    engine: Engine, things: list[Any], num_returns: int, timeout_s: float | None
) -> tuple[list[Any], list[Any]]:
    """wait() for refs and streams. A stream is ready when its next item is ready."""
    ready: set[int] = set()
    changed = threading.Condition()

    def arrived(place: int) -> None:
        with changed:
            ready.add(place)
            changed.notify_all()

    for place, thing in enumerate(things):
        if isinstance(thing, ObjectRefGenerator):
            engine.when_next_item(thing, lambda place=place: arrived(place))  # type: ignore[misc]
        else:
            engine.call_when_ready(thing, lambda place=place: arrived(place))  # type: ignore[misc]
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    with changed:
        while len(ready) < num_returns:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                break
            changed.wait(interruptible.slice_of(left))
        chosen = [place for place in range(len(things)) if place in ready][:num_returns]
    return [things[i] for i in chosen], [thing for i, thing in enumerate(things) if i not in set(chosen)]
