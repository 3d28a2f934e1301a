"""Notices changes that a task makes to its process, and undoes them before the next task.

```
  after every task      is_disturbed()   working directory, limits of files, our descriptors, an alarm: under 3 µs
  when idle, after an   restore()        everything below; what cannot be put back is returned in words,
  error or a long task                   and the process ends
``` Only changes that could make other tasks fail are undone: a lowered limit, but not a raised one. As in Ray, these
stay: environment variables, modules and their globals, import paths, the garbage collector, open files, threads.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
from collections.abc import Iterable
from typing import Any

# signal.getsignal() makes an enum of each answer: 115 µs for all signals; this function takes 5.
_handler_of: Any = sys.modules["_signal"].getsignal
_SIGNALS = [number for number in signal.valid_signals() if number not in (signal.SIGKILL, signal.SIGSTOP)]
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_LIMITS = {
    name: getattr(resource, name)
    for name in dir(resource)
    if name.startswith("RLIMIT_") and name != "RLIMIT_OFILE"  # RLIMIT_NOFILE by another name
}
_NONE = (0.0, 0.0)


class ProcessState:
    """The state of the process when it was `accept`ed; used by its main thread."""

    def __init__(self, ours: dict[int, str]) -> None:
        self._ours = ours  # descriptors that every task needs, with their names
        self._poll = select.poll()
        for fd in (0, *ours):
            self._poll.register(fd, 0)  # poll() reports only closed ones
        self._shelter = "/"
        self.accept("/")

    def accept(self, shelter: str) -> None:
        """Remember the present state. `shelter` is the directory to use if the present one is gone."""
        self._shelter = shelter
        self._directory = _directory()
        if not self._directory:
            self._go_home()
        self._limits = [(name, number, resource.getrlimit(number)) for name, number in _LIMITS.items()]
        self._note_file_limits()
        self._handlers = {number: _handler_of(number) for number in _SIGNALS}
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self._umask = os.umask(0o077)
        os.umask(self._umask)
        self._niceness = os.getpriority(os.PRIO_PROCESS, 0)
        self._cpus = os.sched_getaffinity(0)
        self._recursion = sys.getrecursionlimit()
        self._files = _files(self._ours)
        self._identity = _identity()

    def _note_file_limits(self) -> None:
        self._open_files = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._file_size = resource.getrlimit(resource.RLIMIT_FSIZE)

    # ---- after every task

    def is_disturbed(self) -> bool:
        """Whether one of the quickly checked facts has changed."""
        return (
            resource.getrlimit(resource.RLIMIT_NOFILE) != self._open_files
            or resource.getrlimit(resource.RLIMIT_FSIZE) != self._file_size
            or bool(self._poll.poll(0))
            or signal.getitimer(signal.ITIMER_REAL) != _NONE
            or _directory() != self._directory
        )

    def lift_recursion_limit(self) -> None:
        """Raise a low recursion limit, which would stop nbaccel's own code as well."""
        if sys.getrecursionlimit() < self._recursion:
            sys.setrecursionlimit(self._recursion)

    # ---- the full check

    def restore(self) -> list[str]:
        """Restore everything. Returns a change that cannot be undone, as the end of "it has …"."""
        self.lift_recursion_limit()
        self._stop_timers()  # before the handlers: an alarm without a handler ends the process
        self._restore_signals()
        left = [*self._restore_limits(), *self._restore_descriptors(), *self._restore_niceness()]
        os.umask(self._umask)
        self._restore_affinity()
        if _directory() != self._directory:
            self._return_home()
        if _identity() != self._identity:
            left.append("changed its user, its group or its root directory")
        return left

    def _stop_timers(self) -> None:
        for timer in _TIMERS:
            if signal.getitimer(timer) != _NONE:
                signal.setitimer(timer, 0)
        faulthandler: Any = sys.modules.get("faulthandler")
        if faulthandler is not None:
            faulthandler.cancel_dump_traceback_later()

    def _restore_signals(self) -> None:
        for number, handler in self._handlers.items():
            if _handler_of(number) is not handler and handler is not None:
                signal.signal(number, handler)
        if signal.pthread_sigmask(signal.SIG_BLOCK, ()) != self._mask:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def _restore_limits(self) -> list[str]:
        left = []
        limit_of = resource.getrlimit
        for name, number, before in self._limits:
            now = limit_of(number)
            if now == before:
                continue
            wanted = _not_lower(now[0], before[0]), _not_lower(now[1], before[1])
            try:
                resource.setrlimit(number, wanted)
            except (OSError, ValueError):
                left.append(f"lowered {name} to {now[1]}, which only the system's administrator may undo")
        self._note_file_limits()
        return left

    def _restore_descriptors(self) -> list[str]:
        now = _files((0, *self._ours))
        if now.pop(0) is None:
            null = os.open(os.devnull, os.O_RDONLY)  # open() takes the lowest free number, which is mostly 0
            if null:
                os.dup2(null, 0)
                os.close(null)
        if now == self._files:
            return []
        replaced = [fd for fd, file in self._files.items() if now[fd] != file]
        return [f"closed or replaced descriptor {fd}, which is {self._ours[fd]}" for fd in replaced]

    def _restore_niceness(self) -> list[str]:
        now = os.getpriority(os.PRIO_PROCESS, 0)
        if now != self._niceness:
            try:
                os.setpriority(os.PRIO_PROCESS, 0, self._niceness)
            except PermissionError:
                return [f"changed its niceness to {now}, which only the system's administrator may undo"]
        return []

    def _restore_affinity(self) -> None:
        if os.sched_getaffinity(0) != self._cpus:
            try:
                os.sched_setaffinity(0, self._cpus)
            except OSError:
                self._cpus = os.sched_getaffinity(0)  # the container's CPUs have changed

    def _return_home(self) -> None:
        try:
            os.chdir(self._directory)
        except OSError:
            self._go_home()

    def _go_home(self) -> None:
        """The directory to work in does not exist any more."""
        for place in (self._shelter, "/"):
            try:
                os.chdir(place)
                break
            except OSError:
                continue  # the session's directory is gone as well
        self._directory = _directory()


def _directory() -> str:
    """The working directory, "" when it was deleted."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _files(descriptors: Iterable[int]) -> dict[int, tuple[int, int] | None]:
    """Which file each descriptor is open on, None when it is closed."""
    files: dict[int, tuple[int, int] | None] = {}
    for fd in descriptors:
        try:
            facts = os.fstat(fd)
            files[fd] = facts.st_dev, facts.st_ino
        except OSError:
            files[fd] = None
    return files


def _identity() -> tuple[Any, ...]:
    root = os.stat("/")
    return os.getresuid(), os.getresgid(), root.st_dev, root.st_ino


def _not_lower(now: int, before: int) -> int:
    """The larger of two limits."""
    if resource.RLIM_INFINITY in (now, before):
        return resource.RLIM_INFINITY
    return max(now, before)
