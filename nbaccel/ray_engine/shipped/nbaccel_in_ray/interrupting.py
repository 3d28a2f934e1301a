"""Lets a cancel reach a task that sleeps or waits.

Ray notes the interrupt, and Python raises KeyboardInterrupt before its next step: after the sleep, or never if the code
waits for a lock. Python also writes each noted signal into a pipe. A thread that reads the pipe interrupts the main
thread's system call with a signal that does nothing.

A program that a shell script has started with `&` ignores SIGINT, and so do its children: Ray's interrupt would be lost
silently. A task's process is never in the foreground of a terminal, so it does not need to ignore SIGINT.
"""

from __future__ import annotations

import os
import signal
import threading
import time

WAKE = signal.SIGURG
_PAUSES_S = (0.0, 0.05, 0.2, 1.0)  # the main thread may enter its system call just after it was woken


def install() -> None:
    """Install this in a process whose main thread runs tasks, unless the program uses these signals itself."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(WAKE) not in (signal.SIG_DFL, signal.SIG_IGN):
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    if before != -1:
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)
        return
    signal.signal(WAKE, lambda number, frame: None)
    main = threading.get_ident()
    threading.Thread(target=_watch, args=(reader, main), name="nbaccel-interrupts", daemon=True).start()


def _watch(reader: int, main: int) -> None:
    while True:
        if signal.SIGINT in os.read(reader, 64):
            for pause_s in _PAUSES_S:
                time.sleep(pause_s)
                signal.pthread_kill(main, WAKE)
