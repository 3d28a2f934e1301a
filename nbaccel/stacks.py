"""Where the Python code of another process of this machine stands, also while it is in a C call.

```
  of(pid) ── WHERE, a signal ──► its main thread ── faulthandler writes frames ──► a memfd of the process
       ◄────────────────────────── /proc/PID/fd/N ────────────────────────────────────┘
```
The main thread of an actor with threads or a loop runs no code of its own. There a handler in Python writes the frames
of all threads, and of the coroutines that wait. `nbaccel_in_ray` has this file too: it uses the standard library only.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

# A real-time signal: SIGUSR1 and SIGUSR2 belong to what users and their libraries do.
WHERE = signal.SIGRTMIN + 7 if hasattr(signal, "SIGRTMIN") else signal.SIGUSR2
PATIENCE_S = 2.0
_NAME = "nbaccel-stack"
_WHOLE_S = 0.01  # an answer that has not grown for so long is whole
_tgkill = getattr(ctypes.CDLL(None), "tgkill", None)  # the GNU C library's since 2.30; macOS has none


def send_signal(pid: int, number: int) -> bool:
    """Signal the main thread of a process; False if there is none.

    The system gives a signal for the whole process to another thread if the main one has yet to take an earlier signal.
    """
    if _tgkill is None:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True
    sent: int = _tgkill(pid, pid, number)
    return sent == 0


# ---- the process that is asked


def install() -> None:
    """Let this process answer; called in its main thread."""
    if not hasattr(os, "memfd_create") or threading.current_thread() is not threading.main_thread():
        return
    if _memfd_of(os.getpid()) is None:
        fd = os.memfd_create(_NAME)
        signal.signal(WHERE, lambda number, frame: _write_all(fd, frame))
        faulthandler.register(WHERE, file=fd, all_threads=False)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {WHERE})  # Ray blocks signals in its workers


def answer_for_threads() -> None:
    """From now on code runs in threads or loops of this process: Python's own handler answers."""
    faulthandler.unregister(WHERE)


def _write_all(fd: int, here: FrameType | None) -> None:
    frames = {**sys._current_frames(), threading.get_ident(): here}
    stacks = [list(_outwards(frame)) for frame in frames.values()]
    stacks += [list(_awaited(coroutine))[::-1] for coroutine in _coroutines()]
    written = [line for stack in stacks for line in ("Stack (most recent call first):", *map(_line, stack))]
    os.write(fd, ("\n".join(written) + "\n").encode("utf-8", "backslashreplace"))


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _coroutines() -> Iterator[Any]:
    """Those of asyncio's tasks that wait: the frames of one that runs are those of its thread."""
    asyncio: Any = sys.modules.get("asyncio")
    for found in gc.get_objects() if asyncio is not None else ():
        if issubclass(type(found), asyncio.Task) and not found.done():
            coroutine = found.get_coro()
            if not getattr(coroutine, "cr_running", False):
                yield coroutine


def _awaited(coroutine: Any) -> Iterator[FrameType]:
    """The frames of a coroutine and of what it awaits, outermost first."""
    while coroutine is not None:
        frame = _first_of(coroutine, *_FRAMES)
        if frame is not None:
            yield frame
        awaited = _first_of(coroutine, "cr_await", "gi_yieldfrom", "ag_await")
        # What `async for` awaits, and what Cython does, only holds the coroutine.
        held = () if awaited is None or _first_of(awaited, *_FRAMES) is not None else gc.get_referents(awaited)
        coroutine = next((each for each in held if _first_of(each, *_FRAMES) is not None), awaited)


_FRAMES = ("cr_frame", "gi_frame", "ag_frame")


def _first_of(owner: Any, *names: str) -> Any:
    return next((found for name in names if (found := getattr(owner, name, None)) is not None), None)


def _line(frame: FrameType) -> str:
    return f'  File "{frame.f_code.co_filename}", line {frame.f_lineno}, in {frame.f_code.co_name}'


# ---- who asks


def ask(pid: int) -> int | None:
    """Ask a process; returns where its answer will begin, or None if it cannot answer."""
    fd = _memfd_of(pid)
    if fd is None or not _handles(pid):
        return None
    try:
        size = os.stat(f"/proc/{pid}/fd/{fd}").st_size
    except OSError:
        return None
    return size if send_signal(pid, WHERE) else None


def answer(pid: int, since: int) -> str:
    """What has been written from there on, innermost frames first; "" before it is whole."""
    fd = _memfd_of(pid)
    if fd is None:
        return ""
    try:
        with open(f"/proc/{pid}/fd/{fd}", "rb") as file:
            facts = os.fstat(file.fileno())
            if facts.st_size <= since or time.time() - facts.st_mtime < _WHOLE_S:
                return ""
            file.seek(since)
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def of(pid: int) -> str:
    """The stacks of a process, innermost frames first; "" if it does not answer."""
    since = ask(pid)
    if since is None:
        return ""
    deadline = time.monotonic() + PATIENCE_S
    while not (text := answer(pid, since)) and time.monotonic() < deadline:
        time.sleep(_WHOLE_S)
    return text


def _memfd_of(pid: int) -> int | None:
    folder = f"/proc/{pid}/fd"
    try:
        return next((int(fd) for fd in os.listdir(folder) if _is_ours(f"{folder}/{fd}")), None)
    except OSError:
        return None  # it has ended, or belongs to somebody else


def _is_ours(path: str) -> bool:
    try:
        return os.readlink(path).startswith(f"/memfd:{_NAME}")
    except OSError:
        return False


def _handles(pid: int) -> bool:
    """Whether the signal has a handler there: without one it would end the process."""
    try:
        with open(f"/proc/{pid}/status") as file:
            masks = [line.split()[1] for line in file if line.startswith("SigCgt:")]
    except OSError:
        return False
    return bool(masks) and bool(int(masks[0], 16) >> (WHERE - 1) & 1)
