"""Waiting in the main thread so that the Stop button is always noticed.

CPython checks for signals before it starts to wait for a lock, and when a signal interrupts the wait. A signal that
arrives in between, while the thread releases the interpreter's lock, is recorded but does not end the wait (seen once
in about 40 presses on two busy cores). A wait in the main thread is therefore cut into slices and checks for signals
after each slice: 20 wake-ups a second, and only while a cell waits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

SLICE_S = 0.05


def slice_of(timeout_s: float | None) -> float | None:
    """The seconds to wait before the next check for signals; the whole time in any other thread."""
    if threading.current_thread() is not threading.main_thread():
        return timeout_s
    return SLICE_S if timeout_s is None else min(timeout_s, SLICE_S)


def until(wait: Callable[[float | None], bool], timeout_s: float | None) -> bool:
    """Call `wait(seconds)` until it returns True. Returns False after the timeout."""
    if timeout_s is None:
        while not wait(slice_of(None)):
            pass
        return True
    deadline = time.monotonic() + timeout_s
    while True:
        left = deadline - time.monotonic()
        if wait(slice_of(max(left, 0.0))):
            return True
        if left <= SLICE_S:
            return False


def acquire(lock: threading.Lock, timeout_s: float | None) -> bool:
    """Acquire a lock. Returns False after the timeout."""
    return until(lambda s: lock.acquire(timeout=-1 if s is None else min(s, threading.TIMEOUT_MAX)), timeout_s)
