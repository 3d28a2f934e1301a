"""A time limit for user code that the user did not call: the text of an error, and its pickling.

```
  0 ──── 10 s ──── 20 s ──── 30 s ─┬─ 35 s ─────────────┬─ 45 s
        TooLate   TooLate  TooLate │ give_up(), which   │ the process ends without asking Python:
        in the main thread         │ ends the process   │ code in C that does not return hears of no alarm
```
"""

from __future__ import annotations

import _thread
import faulthandler
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from nbaccel.local_engine.client.link import block_signals

PATIENCE_S = 10.0  # pickling an error that holds a large array takes seconds
LAST_WORD = 3.5  # times PATIENCE_S: user code has swallowed the third alarm as well
END = 4.5  # times PATIENCE_S: `give_up` did not end the process

PATIENCE_TO_GIVE_UP_S = 10.0


class TooLate(BaseException):
    """Raised in the main thread when time is up; passes through an `except Exception`."""


@contextmanager
def limited(give_up: Callable[[TooLate], object]) -> Iterator[None]:
    """Raise TooLate in the block after PATIENCE_S, and again after as long, should the first one be swallowed.

    Where that does not end the block, `give_up` is called in another thread. It has to end the process.

    For the main thread, where an alarm interrupts a sleep. It takes the alarms of the process and of faulthandler from
    whoever has set them.
    """
    decided = threading.Lock()  # taken once: at the end of the block, or by the thread that gives up
    over = threading.Event()

    watched = False

    def ring(number: int, frame: Any) -> None:
        nonlocal watched
        if decided.locked():
            return
        if not watched:  # only now: a thread for each failing task would cost 0.4 ms, more than all else
            watched = True
            with suppress(RuntimeError):  # the task used up all threads: faulthandler has its own
                _thread.start_new_thread(watch, ())  # `threading` would take a lock that this thread may hold
        raise TooLate(f"it took more than {PATIENCE_S:g} s")

    def watch() -> None:
        block_signals()
        if not over.wait((LAST_WORD - 1) * PATIENCE_S) and decided.acquire(blocking=False):
            faulthandler.dump_traceback_later(PATIENCE_TO_GIVE_UP_S, exit=True, file=2)  # long: the machine may be busy
            took = f"it took more than {LAST_WORD * PATIENCE_S:g} s"
            give_up(TooLate(f"{took} and did not stop when it was interrupted"))

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
        with suppress(RuntimeError):  # the task used up all threads: only the alarm is left
            faulthandler.dump_traceback_later(END * PATIENCE_S, exit=True, file=2)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_S, PATIENCE_S)
        yield
    finally:
        if not decided.acquire(blocking=False):
            threading.Event().wait()  # the process ends
        over.set()
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if before is None else before)
