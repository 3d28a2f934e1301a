"""Tasks that change the process that they share. Workers import this module: it needs no test library."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import nbaccel
from nbaccel import engine as engines
from nbaccel.local_engine.worker import execution

TASK_S = 0.002  # longer than what is taken for a short task


def _arena_fd() -> int:
    started: Any = engines.started()
    return int(started._arena_fd)


def _leave_a_deleted_directory() -> None:
    os.mkdir("gone")
    os.chdir("gone")
    os.rmdir("../gone")


def _raise(*ignored: object) -> None:
    raise TimeoutError


def _ring_soon() -> None:
    signal.signal(signal.SIGALRM, _raise)
    signal.alarm(1000)  # not while the task lasts, however slow the machine


MENDED = {
    "few open files": lambda: resource.setrlimit(
        resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    ),
    "small files": lambda: resource.setrlimit(
        resource.RLIMIT_FSIZE, (10, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    ),
    "little memory": lambda: resource.setrlimit(
        resource.RLIMIT_AS, (1 << 20, resource.getrlimit(resource.RLIMIT_AS)[1])
    ),
    "little time": lambda: resource.setrlimit(resource.RLIMIT_CPU, (1000, resource.getrlimit(resource.RLIMIT_CPU)[1])),
    "a deleted directory": _leave_a_deleted_directory,
    "another directory": lambda: os.chdir("/"),
    "umask": lambda: os.umask(0o777),
    "an ignored signal": lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    "no interrupts": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    "blocked signals": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGALRM]),
    "an alarm": _ring_soon,
    "a timer": lambda: signal.setitimer(signal.ITIMER_PROF, 1000),
    "one cpu": lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
    "little recursion": lambda: sys.setrecursionlimit(40),
    "closed stdin": lambda: os.close(0),
    "no stdout": lambda: setattr(sys, "stdout", None),
    "no environment": os.environ.clear,
}
ENDED = {
    "our shared memory": lambda: os.close(_arena_fd()),
    "its stdout": lambda: os.close(1),
    "its stderr": lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), 2),
    "another user": lambda: os.setegid(65534) if os.geteuid() == 0 else os.close(1),
}


@nbaccel.remote(max_retries=0)
def do(deed: str, how: str = "at once") -> int:
    """Change the process, in a task that is short, long or fails; the process's id."""
    (MENDED | ENDED)[deed]()
    if how == "long":
        end = time.monotonic() + TASK_S
        while time.monotonic() < end:
            pass
    if how == "failing":
        raise ValueError("after the deed")
    return os.getpid()


def _limit(name: str) -> int:
    return resource.getrlimit(getattr(resource, name))[0]


@nbaccel.remote(max_retries=0)
def facts() -> dict[str, Any]:
    """All of the process that a task can find changed."""
    umask = os.umask(0)
    os.umask(umask)
    return {
        "limits": [_limit(name) for name in sorted(vars(resource)) if name.startswith("RLIMIT_")],
        "directory": os.getcwd(),
        "umask": umask,
        "handlers": [signal.getsignal(number) for number in (signal.SIGCHLD, signal.SIGALRM)],
        "interrupts": callable(signal.getsignal(signal.SIGINT)),
        "mask": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "timers": [
            signal.getitimer(timer) for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
        ],
        "cpus": os.sched_getaffinity(0),
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "recursion": sys.getrecursionlimit(),
        "streams": [os.fstat(fd).st_nlink for fd in (0, 1, 2)],
        "stdout": sys.stdout is not None,
        "user": (os.getegid(), os.geteuid()),
    }


@nbaccel.remote(max_retries=0)
def pid() -> int:
    return os.getpid()


@nbaccel.remote(max_retries=0)
def large(deed: str) -> bytes:
    """A result that goes through shared memory, of a task that has made that hard."""
    (MENDED | ENDED)[deed]()
    return bytes(1_000_000)


@nbaccel.remote(max_retries=0)
def put(deed: str) -> None:
    (MENDED | ENDED)[deed]()
    nbaccel.put(bytes(1_000_000))


@nbaccel.remote(max_retries=0)
def noted(path: str, number: int, deed: str) -> int:
    """Writes down that it ran; the first changes its process."""
    with open(path, "a") as file:
        file.write(f"{number}\n")
    if number == 0:
        ENDED[deed]()
    return number


class Words(Exception):
    """An error whose words end the process or never come."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how

    def __str__(self) -> str:
        return str(_go_wrong(self.how))

    __repr__ = __str__


class Unpicklable(Exception):
    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how

    def __reduce__(self) -> Any:
        return _go_wrong(self.how)


def _go_wrong(how: str) -> str:
    if how == "exit":
        sys.exit(3)
    if how == "interrupt":
        raise KeyboardInterrupt
    while how == "swallow":
        with contextlib.suppress(BaseException):
            threading.Event().wait()
    if how == "stay in C":
        sum(range(1 << 60))
    threading.Event().wait()
    return ""


@nbaccel.remote(max_retries=0)
def throw(kind: str, how: str) -> None:
    execution.PATIENCE_S = 0.1
    # Tenths of a second lie between the steps, and a busy machine may be late by more: those that are not meant come
    # in a minute. The process may have thrown before, in another way.
    execution.LAST_WORD = 3.5 if how == "swallow" else 600
    execution.END = 4.5 if how == "stay in C" else 600
    raise {"words": Words, "pickling": Unpicklable}[kind](how)


@nbaccel.remote(max_retries=0, num_returns=2)
def yield_and_throw(kind: str, how: str) -> Iterator[int]:
    yield 1
    throw._function(kind, how)


@nbaccel.remote
class Thrower:
    def throw(self, kind: str, how: str) -> None:
        throw._function(kind, how)

    async def pid(self) -> int:
        return os.getpid()
