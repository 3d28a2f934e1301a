"""Tasks that wait in print, because the driver that shows their output does not read. Other tasks get their CPUs.

```
  driver stopped ──► 4 MB of its lines wait ──► its pipes are not looked at ──► full ──► print blocks
                                                   └── PATIENCE_S later, and full ──► WorkerBlocked
  driver reads again ──► looked at ──► WorkerUnblocked
```
No line is lost. A task of a driver that never reads again waits forever, but delays nobody else.
"""

from __future__ import annotations

import array
import fcntl
import termios
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from nbaccel.scheduling.events import WorkerBlocked, WorkerUnblocked

if TYPE_CHECKING:
    from nbaccel.local_engine.head.decisions import Tell
    from nbaccel.local_engine.head.poll import LoopTimers
    from nbaccel.local_engine.head.records import WorkerProcess
    from nbaccel.scheduling.scheduler import Scheduler

PATIENCE_S = 1.0
# A pipe of 64 KiB has 16 pages, and a text that does not fit into the rest of a page begins a new one: it takes no more
# once it is half full.
FULL_BYTES = 1 << 15


class _BlockedPipe(Struct):
    worker: WorkerProcess
    fd: int  # of the pipe
    task: Any = None  # the worker whose CPU is lent


class BlockedPrints:
    """All pipes whose reader does not read."""

    def __init__(self, timers: LoopTimers, scheduler: Scheduler, tell: Tell) -> None:
        self._timers = timers
        self._scheduler = scheduler
        self._tell = tell
        self._held: dict[int, _BlockedPipe] = {}

    def wait(self, pipe: int, worker: WorkerProcess, fd: int) -> None:
        """Stop reading the pipe until `go`."""
        held = self._held[pipe] = _BlockedPipe(worker, fd)
        self._look_later(pipe, held)

    def go(self, pipe: int) -> None:
        """Read the pipe again: a task that waited in print goes on."""
        held = self._held.pop(pipe, None)
        if held is not None and held.task is not None and self._running(held) is held.task:
            self._tell(WorkerUnblocked(held.worker.worker_id))

    def go_all(self) -> None:
        for pipe in list(self._held):
            self.go(pipe)

    def _look_later(self, pipe: int, held: _BlockedPipe) -> None:
        self._timers.after(PATIENCE_S, lambda: self._look(pipe, held))

    def _look(self, pipe: int, held: _BlockedPipe) -> None:
        if self._held.get(pipe) is not held or held.worker.ended:
            return
        task = self._running(held)
        if task is not held.task:  # it could end, or another has begun: lend once for each
            held.task = task if task is not None and _bytes_in(held.fd) >= FULL_BYTES else None
            if held.task is not None:
                self._tell(WorkerBlocked(held.worker.worker_id))
        self._look_later(pipe, held)

    def _running(self, held: _BlockedPipe) -> Any:
        """The plain task that the worker runs. An actor is not counted, because it always keeps its CPUs."""
        record = self._scheduler.worker_record(held.worker.worker_id)
        return record.queue[0] if record is not None and record.queue and record.actor is None else None


def _bytes_in(fd: int) -> int:
    waiting = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, waiting)
    return waiting[0]
