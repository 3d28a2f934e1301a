"""The Stop button when the engine cannot see it: while a cell awaits, and for a second press when no cell runs.

ipykernel ignores SIGINT between cells. For the few seconds in which a second press means "force", a handler of ours
takes its place; it is put back as soon as the next cell starts or the time is over.

While a cell awaits, ipykernel's handler only queues the end of the cell, and a loop that sleeps does not see that (with
tornado 6.6). While a cell waits for a lock, as `concurrent.futures.wait` does, CPython may note a signal and sleep on
(waits/interruptible.py says when). So every signal is written into a pipe too, and a thread that reads it wakes the
loop, and gets the main thread out of its system call with a signal that does nothing. It also ends what the cell's
other threads wait for: Python raises KeyboardInterrupt in the main thread alone.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import threading
import time
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbaccel.waits import stopping

ROUSE = signal.SIGURG
_MAIN_FIRST_S = 0.1  # in which the main thread cancels what it waits for itself
_PAUSES_S = (0.05, 0.2, 1.0)  # several tries: the main thread may fall asleep just as it is woken


class StopWatch:
    """Tells `stopping` how cells end, and listens for a second press."""

    def __init__(self) -> None:
        self._replaced: Any = None
        self._pipe = -1  # the pipe's writing end, once signals are written there
        self._cell_began_at = 0.0
        self._pressed_at = -1e9  # of time.monotonic(): the last press that came through the pipe

    def cell_started(self, info: Any) -> None:
        self._put_back()
        stopping.cell_started()
        self._cell_began_at = time.monotonic()
        if self._pipe >= 0 and threading.current_thread() is threading.main_thread():
            _write_signals_to(self._pipe)  # a cell that removed an asyncio signal handler has undone this

    def let_signals_wake_the_kernel(self) -> None:
        """Write signals into a pipe that wakes the main thread, unless other code has taken the wakeup descriptor."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        if threading.current_thread() is not threading.main_thread():
            return
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        if not _write_signals_to(writer):
            os.close(reader)
            os.close(writer)
            return
        self._pipe = writer
        rouses = signal.getsignal(ROUSE) in (signal.SIG_DFL, signal.SIG_IGN)
        if rouses:
            signal.signal(ROUSE, lambda number, frame: None)
        threading.Thread(target=self._watch, args=(reader, loop, rouses), name="nbaccel-stop", daemon=True).start()

    def _watch(self, reader: int, loop: asyncio.AbstractEventLoop, rouses: bool) -> None:
        main = threading.main_thread().ident or 0
        pauses: tuple[float, ...] = ()
        while True:
            if pauses and not select.select([reader], [], [], pauses[0])[0]:
                signal.pthread_kill(main, ROUSE)
                pauses = pauses[1:]
                continue
            heard = os.read(reader, 64)
            if signal.SIGINT in heard:
                self._pressed_at = time.monotonic()
            try:
                loop.call_soon_threadsafe(lambda: None)
            except RuntimeError:
                return  # the kernel has ended
            if signal.SIGINT in heard:
                pressed_at, cell = self._pressed_at, self._cell_began_at
                pauses = _PAUSES_S if rouses else ()
                time.sleep(_MAIN_FIRST_S)
                if cell == self._cell_began_at:  # else it has ended, and another one runs
                    stopping.threads_were_stopped(pressed_at)

    def cell_ended(self, result: Any) -> None:
        error = getattr(result, "error_in_exec", None)
        was_cancelled = isinstance(error, asyncio.CancelledError) and self._pressed_at > self._cell_began_at
        if was_cancelled or isinstance(error, KeyboardInterrupt):  # before the thread that reads signals acts
            stopping.threads_were_stopped(self._pressed_at if self._pipe >= 0 else time.monotonic())
        stopping.cell_ended(error)
        if stopping.recently_stopped():
            self._listen_when_idle()

    def _listen_when_idle(self) -> None:
        """Listen for a second press once the kernel has restored its own handler, after this cell's reply."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # IPython in a terminal never ignores SIGINT
        loop.call_later(0.05, self._listen)
        loop.call_later(stopping.AGAIN_S, self._put_back)

    def _listen(self) -> None:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and self._replaced is None and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            self._replaced = signal.signal(signal.SIGINT, self._pressed)

    def _pressed(self, number: int, frame: Any) -> None:
        stopping.pressed_again()
        self._put_back()

    def _put_back(self) -> None:
        if self._replaced is not None and signal.getsignal(signal.SIGINT) == self._pressed:
            signal.signal(signal.SIGINT, self._replaced)
        self._replaced = None


def _write_signals_to(writer: int) -> bool:
    """Have Python write signals into this pipe; False if other code has its own pipe for them."""
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    if before not in (-1, writer):
        signal.set_wakeup_fd(before)
        return False
    return True


def install(shell: InteractiveShell) -> StopWatch:
    """Watch this shell's cells; a second call returns the existing watch."""
    watch = shell.__dict__.get("_nbaccel_stop_watch")
    if not isinstance(watch, StopWatch):
        watch = StopWatch()
        shell.__dict__["_nbaccel_stop_watch"] = watch
        if getattr(shell, "kernel", None) is not None:
            watch.let_signals_wake_the_kernel()
        shell.events.register("pre_run_cell", watch.cell_started)
        shell.events.register("post_run_cell", watch.cell_ended)
    return watch
