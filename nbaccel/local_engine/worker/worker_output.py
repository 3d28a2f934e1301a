"""A worker's stdout and stderr: line-buffered into the log process's pipes, with a marker where the owner changes.

```
  …output of task a\n RS GS {"name": "b", "cell": …} GS \n output of task b…
```
The marker is only written when the name or the cell differs from the last one: the same function called a thousand
times from one cell costs nothing.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import msgspec

BEGIN, END = b"\x1e\x1d", b"\x1d\n"


class WorkerOutput:
    """This process's two streams."""

    def __init__(self) -> None:
        self._last: tuple[str, str, bytes] | None = None
        self._marker = b""

    def begin(self, name: str, cell: str, parent: bytes, task_id: bytes) -> None:
        """Mark the following output as printed by this task."""
        owner = (name, cell, parent)
        if owner == self._last:
            return
        self._last = owner
        self.flush()
        facts = {"name": name, "cell": cell, "parent": parent.decode("latin-1"), "pid": os.getpid()}
        self._marker = BEGIN + msgspec.json.encode(facts) + END
        for fd in (1, 2):
            self._mark(fd)

    def _mark(self, fd: int) -> None:
        try:
            os.write(fd, self._marker)
        except OSError:
            pass  # the log process has gone

    def restore(self) -> None:
        """A new task has its own print, whatever the last one did to sys.stdout."""
        if (sys.stdout, sys.stderr) != _streams or sys.stdout.closed or sys.stderr.closed:
            wrap()

    def end(self) -> None:
        """The task has ended: show an unfinished line as it is."""
        self.flush()
        for pipe in _pipes:
            if not pipe.at_line_start:
                pipe.at_line_start = True
                self._mark(pipe.fileno())

    def flush(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                pass  # the task closed or replaced it, or the log process has gone


class _Pipe(io.FileIO):
    """One of our pipes: writes all of it, and knows whether a line is open."""

    at_line_start = True

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        done = 0
        while done < len(view):  # a signal may cut a write short
            done += super().write(view[done:]) or 0
        if done:
            self.at_line_start = view[-1] == 0x0A
        return done


_pipes: list[_Pipe] = []
_streams: tuple[Any, ...] = ()


def redirect(stdout_fd: int, stderr_fd: int) -> None:
    """Make these pipes the process's stdout and stderr, on both levels."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(stdout_fd, 1)
    os.dup2(stderr_fd, 2)
    for fd in {null, stdout_fd, stderr_fd} - {0, 1, 2}:
        os.close(fd)
    wrap()


def wrap() -> None:
    """Python's side of it: every print is in the pipe at once."""
    global _streams
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - lives as long as the process
    _pipes[:] = [_Pipe(fd, "w", closefd=False) for fd in (1, 2)]
    _streams = tuple(
        io.TextIOWrapper(pipe, "utf-8", "backslashreplace", line_buffering=True, write_through=True) for pipe in _pipes
    )
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = _streams  # type: ignore[misc]
