"""Connects a notebook with the engine, with or without `%load_ext`: the running cell, output and errors."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import threading
import time
from functools import partial
from typing import Any

from IPython.core.getipython import get_ipython
from IPython.core.interactiveshell import InteractiveShell

from nbaccel import engine
from nbaccel.handles.refs import ObjectRef
from nbaccel.notebook import cells, dashboards, held_handles, options, reprs, settings, tracebacks
from nbaccel.notebook.output import CellOutput, sender
from nbaccel.views import explanations, sinks
from nbaccel.waits import stopping


def attach(shell: InteractiveShell | None = None) -> None:
    """Connects the running shell, if there is one; a second call changes nothing."""
    shell = shell or get_ipython()
    if shell is None:
        return
    # Sentences name the magics: a program that has only called init() can use them too.
    shell.magics_manager.lazy_magics.update(dict.fromkeys(options.MAGICS, "nbaccel"))
    watch = cells.install(shell)
    tracebacks.install(shell)
    reprs.install(shell)
    explanations.name_holders = partial(held_handles.added_to, shell)
    install(shell)
    install_history(shell)
    kernel = getattr(shell, "kernel", None)
    # A terminal has one place for output, and the engine prints there by itself.
    if kernel is not None and not isinstance(sinks.installed, CellOutput):
        cell_of = partial(cells.number_of, shell)
        output = CellOutput(
            sender(kernel),
            settings.of(shell),
            parent_now=lambda: watch.source()[1],
            cell_of=cell_of,
            place_now=dashboards.place_now,
        )
        sinks.install(output)


# ---- values that only IPython's history still holds (`Out[7]`, `_`, `_7`): they leave memory first when it is full
#
# Such a value is never freed: the user can still get it by its name in the history, from disk if need be.


_SHORT_NAMES = ("_", "__", "___")
_OURS = 3  # getrefcount's argument, the loop's variable, and the list that the loop goes through


def refs_of_history_alone(shell: InteractiveShell) -> list[ObjectRef[Any]]:
    """The refs that no variable and no object of the user holds."""
    outputs = shell.user_ns.get("Out") or {}
    names = (*_SHORT_NAMES, *(f"_{number}" for number in outputs))
    held: dict[int, int] = {}
    # IPython keeps results in three places: the user's names, its hidden names, and the display hook.
    for place in (shell.user_ns, shell.user_ns_hidden, vars(shell.displayhook)):
        for name in names:
            if name in place:
                held[id(place[name])] = held.get(id(place[name]), 0) + 1
    in_out = [id(value) for value in outputs.values()]
    refs = list({id(value): value for value in outputs.values() if isinstance(value, ObjectRef)}.values())
    return [ref for ref in refs if sys.getrefcount(ref) <= held.get(id(ref), 0) + in_out.count(id(ref)) + _OURS]


class History:
    """Tells the engine about such refs after each cell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell

    def cell_ended(self, result: Any) -> None:
        started = engine.started()
        if started is not None:
            started.only_in_history([ref._id for ref in refs_of_history_alone(self._shell)])


def install_history(shell: InteractiveShell) -> None:
    """Watch this shell's history; a second call changes nothing."""
    if "_nbaccel_history" not in shell.__dict__:
        shell.__dict__["_nbaccel_history"] = history = History(shell)
        shell.events.register("post_run_cell", history.cell_ended)


# ---- the Stop button when the engine cannot see it: while a cell awaits, and for a second press when no cell runs
#
# ipykernel ignores SIGINT between cells. For the few seconds in which a second press means "force", a handler of ours
# takes its place; it is put back as soon as the next cell starts or the time is over.
#
# While a cell awaits, ipykernel's handler only queues the end of the cell, and a loop that sleeps does not see that
# (with tornado 6.6). While a cell waits for a lock, as `concurrent.futures.wait` does, CPython may note a signal and
# sleep on (waits/interruptible.py says when). So every signal is written into a pipe too, and a thread that reads it
# wakes the loop, and gets the main thread out of its system call with a signal that does nothing. It also ends what
# the cell's other threads wait for: Python raises KeyboardInterrupt in the main thread alone.


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
            received = os.read(reader, 64)
            if signal.SIGINT in received:
                self._pressed_at = time.monotonic()
            try:
                loop.call_soon_threadsafe(lambda: None)
            except RuntimeError:
                return  # the kernel has ended
            if signal.SIGINT in received:
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
