"""Waiting for something that a growing cluster does, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable

DEADLINE_S = 60.0


def until(happened: Callable[[], bool], what: str, deadline_s: float = DEADLINE_S) -> None:
    deadline = time.monotonic() + deadline_s
    while not happened():
        assert time.monotonic() < deadline, f"{what} has not happened within {deadline_s} s"
        time.sleep(0.02)
