"""Direct calls, as long as nobody looks: what was reported of them is kept as it came.

```
  CallsOpened ──► open ──┬── CallsEnded ──► ended: counted, and the last thousand are kept
                         └── any other event, any question ──► make_records: as if each had been reported now
```
A record costs ten times what it costs to keep a report. So a burst that nobody watches is counted only, and every
decision and every answer still knows each call.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from nbaccel.scheduling.events import CallAnswered, CallsEnded, CallsOpened
from nbaccel.scheduling.moves import FAILED, FINISHED, lengthened
from nbaccel.scheduling.tasks import KEEP_ENDED, TaskRecord, TaskTable
from nbaccel.scheduling.terms import Task

Make = Callable[[Any], Task]  # makes a call's task of its report


class LazyCallRecords:
    """The calls without a record."""

    def __init__(self, tasks: TaskTable, admit: Callable[[Task, float], None]) -> None:
        self._tasks = tasks
        self._admit = admit  # makes the record of an open call
        self._ended: deque[tuple[Any, Make, float]] = deque(maxlen=KEEP_ENDED)
        self.open: dict[bytes, tuple[Any, Make, float]] = {}
        self.any = False

    def record(self, task_id: bytes) -> TaskRecord | None:
        """The record of this task, if it has one already. It makes none."""
        return self._tasks.records.get(task_id)

    def opened(self, event: CallsOpened, now: float) -> None:
        """Calls are under way, that nobody has reported before."""
        self.open.update(zip(event.ids, _kept(event, now), strict=False))
        self.any = True

    def over(self, event: CallsEnded, now: float) -> None:
        """Calls without a record have returned."""
        if self.open:
            forget = self.open.pop
            for id in event.ids:
                forget(id, None)
        self._tasks.counts[FINISHED] += len(event.ids)
        count = self._tasks.functions.of(event.terms)
        count.came += len(event.ids)
        count.endings[0] += len(event.ids)
        if not event.terms.internal:  # nobody looks at these, and they would push users' calls out
            self._ended.extend(_kept(event, now))
        self.any = True

    def answered(self, event: CallAnswered, now: float) -> None:
        """A call that failed with its actor, and may be forgotten since, had ended well before."""
        tasks = self._tasks
        for counts, first in ((tasks.counts, 0), (tasks.functions.of(event.terms).endings, FINISHED)):
            counts[FAILED - first] -= 1
            counts[FINISHED - first] += 1
        record = tasks.records.get(event.task_id)
        if record is not None:
            record.state = FINISHED
            record.story = lengthened(record.story, FINISHED, now)

    def make_records(self) -> None:
        """Make the records."""
        self.any = False
        ended, self._ended = self._ended, deque(maxlen=KEEP_ENDED)
        opened, self.open = self.open, {}
        for call, make, now in ended:
            self._tasks.ended_lazily(make(call), now)
        for call, make, now in opened.values():
            self._admit(make(call), now)


def _kept(event: CallsOpened | CallsEnded, now: float) -> Iterable[tuple[Any, Make, float]]:
    return zip(event.reports, repeat(event.make), repeat(now), strict=False)
