"""A limit of time for code of the user's that nobody has asked to run: the words of an error, and its pickling."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE_S = 10.0  # an error that holds a large array takes seconds to be pickled


class TooLate(BaseException):
    """Raised in the main thread when time is up; passes through an `except Exception`."""


@contextmanager
def limited() -> Iterator[None]:
    """Raise TooLate in the block after PATIENCE_S, and again after as long, should the first one be swallowed.

    For the main thread, where an alarm interrupts a sleep. It takes the process's alarm from whoever has set it.
    """
    running = True

    def ring(number: int, frame: Any) -> None:
        if running:
            raise TooLate(f"it took more than {PATIENCE_S:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_S, PATIENCE_S)
        yield
    finally:
        running = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if before is None else before)
