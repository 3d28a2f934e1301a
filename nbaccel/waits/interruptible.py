"""Waiting so that the Stop button is always noticed.

CPython checks for signals before it starts to wait for a lock, and when a signal interrupts the wait. A signal that
arrives in between, while the thread releases the interpreter's lock, is recorded but does not end the wait (seen once
in about 40 presses on two busy cores). A wait in the main thread is therefore cut into slices and checks for signals
after each slice: 20 wake-ups a second, and only while a cell waits.

Python raises KeyboardInterrupt in the main thread alone. In IPython a wait in another thread is therefore cut into
longer slices, and `stopping` ends it: between two slices it raises KeyboardInterrupt too.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterator

from nbaccel import engine

SLICE_S = 0.05
THREAD_SLICE_S = 0.2  # in other threads, of which there may be many

_ended: dict[int, bool] = {}  # threads beside the main one that wait -> whether Stop has ended their waits


def slice_of(timeout_s: float | None) -> float | None:
    """The seconds to wait before the next check whether Stop was pressed; the whole time where Stop ends no waits.

    Raises KeyboardInterrupt in another thread than the main one if Stop has ended its waits.
    """
    if threading.current_thread() is threading.main_thread():
        slice_s = SLICE_S
    else:
        ended = _ended.get(threading.get_ident())
        if ended is None:
            return timeout_s
        if ended:
            raise KeyboardInterrupt("Stop was pressed")
        slice_s = THREAD_SLICE_S
    return slice_s if timeout_s is None else min(timeout_s, slice_s)


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Let Stop end the waits of this thread. It is so in the main thread anyway, and outside of IPython never."""
    thread = threading.get_ident()
    if engine.cell_source is None or thread in _ended or threading.current_thread() is threading.main_thread():
        yield
        return
    _ended[thread] = False
    try:
        yield
    finally:
        del _ended[thread]


def waiting_threads() -> set[int]:
    """The threads beside the main one whose waits Stop can end."""
    return set(_ended)


def end_waits(threads: Collection[int]) -> None:
    """Raise KeyboardInterrupt in these threads, if they still wait."""
    for thread in threads:
        if thread in _ended:
            _ended[thread] = True


def until(wait: Callable[[float | None], bool], timeout_s: float | None) -> bool:
    """Call `wait(seconds)` until it returns True. Returns False after the timeout."""
    with stoppable():
        return _until(wait, timeout_s)


def _until(wait: Callable[[float | None], bool], timeout_s: float | None) -> bool:
    if timeout_s is None:
        while not wait(slice_of(None)):
            pass
        return True
    deadline = time.monotonic() + timeout_s
    while True:
        left = deadline - time.monotonic()
        if wait(slice_of(max(left, 0.0))):
            return True
        if time.monotonic() >= deadline:
            return False


def acquire(lock: threading.Lock, timeout_s: float | None) -> bool:
    """Acquire a lock. Returns False after the timeout."""
    return until(lambda s: lock.acquire(timeout=-1 if s is None else min(s, threading.TIMEOUT_MAX)), timeout_s)
