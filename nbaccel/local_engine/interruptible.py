"""Waiting in the main thread so that the Stop button is always noticed.

CPython looks for signals before it begins to wait for a lock, and when a signal cuts the wait short. One that arrives
in between, while the thread hands over the interpreter's lock, is noted and then slept over (seen once in about 40
presses on two busy cores). A wait in the main thread is therefore cut into slices, after each of which it looks again:
20 wake-ups a second, and only while a cell waits.
"""

from __future__ import annotations

import threading
import time

SLICE_S = 0.05


def slice_of(timeout_s: float | None) -> float | None:
    """How long to wait before looking again; the whole time in any other thread."""
    if threading.current_thread() is not threading.main_thread():
        return timeout_s
    return SLICE_S if timeout_s is None else min(timeout_s, SLICE_S)


def acquire(lock: threading.Lock, timeout_s: float | None) -> bool:
    """Acquire a lock; False after the timeout."""
    if threading.current_thread() is not threading.main_thread():
        return lock.acquire(timeout=-1 if timeout_s is None else min(timeout_s, threading.TIMEOUT_MAX))
    if timeout_s is None:
        while not lock.acquire(timeout=SLICE_S):
            pass
        return True
    deadline = time.monotonic() + timeout_s
    while True:
        left = deadline - time.monotonic()
        if lock.acquire(timeout=max(min(left, SLICE_S), 0)):
            return True
        if left <= SLICE_S:
            return False
