"""Lines whose cell is not known yet: output of tasks that other tasks have submitted, as only their reports tell.

The lines wait until the reports name the submitter of their task, and all later lines of the same stream of the same
process wait behind them. Tasks send reports only on request. After `PATIENCE_S` the lines are shown like output without
a cell.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

PATIENCE_S = 6.0  # includes the collector's start; processes check every two seconds whether reports are wanted
LOOK_EVERY_S = 0.2
MOST_UNKNOWN = 1_000

Key = tuple[str, int, int]  # node, pid, stream


class WaitingLines(NamedTuple):
    """Lines that wait: of which task, since when, and how they are shown at a cell's parent."""

    task_id: str
    since: float
    show: Callable[[bytes], None]


class LinesWithoutCell:
    """`cell_of` gives the parent of a task's cell, None while it is not known; `ask` takes in what tasks report."""

    def __init__(
        self,
        cell_of: Callable[[str], bytes | None],
        ask: Callable[[], object],
        nowhere: Callable[[], bytes],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cell_of = cell_of
        self._ask = ask
        self._nowhere = nowhere
        self._clock = clock
        self._lock = threading.Lock()
        self._queues: dict[Key, deque[WaitingLines]] = {}
        self._unknown: dict[str, None] = {}  # tasks whose report did not come in time
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def show(self, key: Key, task_id: str, show: Callable[[bytes], None]) -> None:
        """Show at once where the cell is known and nothing of this stream waits; else in turn."""
        with self._lock:
            parent = self._cell(task_id)
            waits = key in self._queues or parent is None
            if waits:
                self._queues.setdefault(key, deque()).append(WaitingLines(task_id, self._clock(), show))
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="nbaccel-held-lines", daemon=True)
                    self._thread.start()
        if not waits:
            show(parent or b"")

    def _cell(self, task_id: str) -> bytes | None:
        """Where a task's lines go; None: that may still become known."""
        if not task_id or task_id in self._unknown:
            return self._nowhere()
        parent = self._cell_of(task_id)
        return self._nowhere() if parent is None and self._ending.is_set() else parent

    def _run(self) -> None:
        while True:
            ended = self._ending.wait(LOOK_EVERY_S)
            if not ended:
                self._ask()
            self.look(everything=ended)
            with self._lock:
                if not self._queues:
                    self._thread = None
                    return

    def look(self, *, everything: bool = False) -> None:
        """Show what is known by now, in the order of each stream; what has waited for too long goes nowhere."""
        for key in list(self._queues):
            while (first := self._queues[key][0]) and (parent := self._settled(first, everything)) is not None:
                first.show(parent)  # later lines of its stream wait until this line is shown
                with self._lock:
                    self._queues[key].popleft()
                    if not self._queues[key]:
                        del self._queues[key]
                        break

    def _settled(self, held: WaitingLines, everything: bool) -> bytes | None:
        """Where these lines go by now; None when they wait on."""
        parent = self._cell(held.task_id)
        if parent is None and (everything or self._clock() - held.since >= PATIENCE_S):
            self._give_up(held.task_id)
            parent = self._nowhere()
        return parent

    def _give_up(self, task_id: str) -> None:
        self._unknown[task_id] = None
        if len(self._unknown) > MOST_UNKNOWN:
            del self._unknown[next(iter(self._unknown))]

    def end(self) -> None:
        """Nothing waits any more."""
        self._ending.set()
        thread = self._thread
        if thread is not None:
            thread.join(2.0)
