"""What the head does in a rest after work: it gives memory back to the system.

```
  many tasks have ended ── nothing happens for 1.5 s ──► the records that stay are written anew, close together
                                                    └──► the collector, and the C library's freed memory
```
Python's allocator takes a megabyte at a time, and gives none back that holds one living object. The last thousand tasks
stay known, and their parts lie wherever there was a gap when each of them ran: after a burst of 50,000 tasks a megabyte
here and there kept 30 MB. So they are packed into one piece of bytes, let go of, and made again in few places.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Protocol

from nbaccel.local_engine import memory
from nbaccel.local_engine.head.packing import pack
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.scheduling.tasks import Pack

LOOK_S = 1.5  # between two looks whether anything has happened
WORTH_IT = 1_000  # tasks that have ended since: a rest takes 25 to 100 ms, in which the head does nothing else
TOO_MANY = 1_000  # unfinished tasks: the collector looks at each of them


LetGo = Callable[[], Callable[[], None]]  # lets records go that lie all over the memory; returns what makes them again


class Tasks(Protocol):
    """The tasks of the head's scheduler."""

    def ended_so_far(self) -> int: ...
    def unfinished(self) -> int: ...
    def let_go_of_ended(self, pack: Pack) -> Callable[[], None]: ...


class IdleCompaction:
    """Notices that the head rests. `others` let go of the records beside the tasks."""

    def __init__(
        self,
        timers: LoopTimers,
        tasks: Tasks,
        others: Callable[[], Sequence[LetGo]],
        trim: Callable[[], None] = memory.trim,
    ) -> None:
        self._timers = timers
        self._tasks = tasks
        self._others = others
        self._trim = trim
        self._is_timed = False
        self.has_stirred = False
        self._settled = 0  # how many tasks had ended by then
        self._is_due = False  # once more: workers that were idle have ended since, and free what was among the rest

    def stir(self) -> None:
        """Something has happened."""
        self.has_stirred = True
        if not self._is_timed:
            self._is_timed = True
            self._timers.after(LOOK_S, self._look)

    def _look(self) -> None:
        if self.has_stirred:
            self.has_stirred = False
            self._timers.after(LOOK_S, self._look)
            return
        self._is_timed = False
        ended = self._tasks.ended_so_far()
        is_much = ended - self._settled >= WORTH_IT
        if (is_much or self._is_due) and self._tasks.unfinished() <= TOO_MANY:
            self._settled, self._is_due = ended, is_much
            self._settle()

    def _settle(self) -> None:
        """All parts go before the first is made again: one that stayed would keep the memory of the others."""
        with ExitStack() as make_again:  # whatever one of them raises, the others come back
            make_again.callback(self._tasks.let_go_of_ended(pack))
            for let_go in self._others():
                make_again.callback(let_go())
            gc.collect()  # also the interpreter's lists of free objects, which lie all over the memory
        self._trim()
