"""The meeting point of an experiment's trials and its driver: one service actor.

```
  trial ── put(report) ──► mailbox ── take() ──► driver
        ◄── stop? ─────────┘     ◄── answer() ─┘
```
Where something decides about each report (a scheduler, a stopper), a trial waits in `report` until the driver has
answered, so that it ends after exactly the report that ends it. Else it goes on at once, and learns at its next report
whether it was stopped. Reports for which nobody waits are taken several at a time: an answer costs the driver more than
a report.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from nbaccel.train.mailbox import Batch

GO_ON, END, SAVE = 0, 1, 2  # the bits of an answer: END the trial, SAVE a checkpoint of what was reported
GATHER_S = 0.01  # between two answers to the driver, if no trial waits

Message = tuple[str, int, str, int, Any]  # trial, attempt, kind, number, contents


class TrialMailbox:
    """An asyncio actor."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._taken = 0  # messages that the driver has got
        self._news = asyncio.Event()
        self._urgent = asyncio.Event()
        self._taken_at = -math.inf
        self._waiting: dict[tuple[str, int], asyncio.Future[int]] = {}
        self._begun: set[tuple[str, int]] = set()
        self._stopped: dict[tuple[str, int], int] = {}  # the answers to their next reports
        self._all_stopped = False
        # Of each run that an attempt fits (several, if it has threads); True once it is interrupted.
        self._fitting: defaultdict[tuple[str, int], list[asyncio.Future[bool]]] = defaultdict(list)

    async def put(self, trial: str, attempt: int, kind: str, number: int, contents: Any, waits: bool = False) -> int:
        """Leave a message for the driver; returns its answer."""
        if kind == "begun":
            self._begun.add((trial, attempt))
        self._messages.append((trial, attempt, kind, number, contents))
        self._news.set()
        if waits:
            self._urgent.set()
            answer = self._waiting[trial, attempt] = asyncio.get_running_loop().create_future()
            given: int = await answer
            if given:
                return given
        return self._stopped.get((trial, attempt), END if self._all_stopped else GO_ON)

    async def is_stopped(self, trial: str, attempt: int) -> bool:
        """Whether this attempt of a trial is to end."""
        return self._all_stopped or (trial, attempt) in self._stopped

    async def take(self, max_wait_s: float) -> Batch:
        """The messages since the last call, with the number of the first; waits up to a timeout for one."""
        if not self._messages and max_wait_s:
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), max_wait_s)
        gather_s = self._taken_at + GATHER_S - time.monotonic()
        if gather_s > 0 and max_wait_s and not self._waiting:
            self._urgent.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._urgent.wait(), gather_s)
        self._taken_at = time.monotonic()
        messages, self._messages = self._messages, []
        first, self._taken = self._taken, self._taken + len(messages)
        return first, messages

    async def answer(self, answers: Mapping[tuple[str, int], int]) -> None:
        """Answer attempts of trials that wait."""
        for each, given in answers.items():
            waiting = self._waiting.pop(each, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(given)

    async def stop(self, trial: str, attempt: int, answer: int = END) -> bool:
        """End this attempt of a trial at its next report; returns whether it has begun."""
        self._stopped[trial, attempt] = answer
        return (trial, attempt) in self._begun

    async def stop_all(self) -> set[tuple[str, int]]:
        """End every trial at its next report; returns the attempts that have begun."""
        self._all_stopped = True
        return self._begun

    async def fit_begins(self, trial: str, attempt: int) -> bool:
        """Wait until the run that a trial fits is to be interrupted; returns False once the run has ended."""
        waiting: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._fitting[trial, attempt].append(waiting)
        return await waiting

    async def fit_ends(self, trial: str, attempt: int) -> bool:
        """Returns whether the run was interrupted."""
        waiting = self._fitting[trial, attempt].pop()
        was_interrupted = waiting.done()
        if not was_interrupted:
            waiting.set_result(False)
        return was_interrupted

    async def interrupt(self, attempts: Sequence[tuple[str, int]]) -> set[tuple[str, int]]:
        """Interrupt the runs that these attempts fit; returns the attempts that fit none."""
        others = set()
        for each in attempts:
            fitting = self._fitting.get(each)
            if not fitting:
                others.add(each)
                continue
            for waiting in fitting:
                if not waiting.done():
                    waiting.set_result(True)
        return others

    async def wake(self) -> None:
        """Let `take` return, since the driver wants no more news."""
        self._news.set()
        self._urgent.set()
