"""Straight calls as a driver has told of them: the scheduler keeps them so until somebody looks, who needs tasks.

```
  StraightNews ──► opened, ended ──► CallsOpened, CallsEnded ──► scheduler (unseen_calls)
                                                                     │ somebody looks
                        task_of_open, task_of_ended ◄────────────────┘
```
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Protocol

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.objects.ledger import Objects
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import ActorEntry, TaskEntry, entry_of
from nbaccel.local_engine.head.tasks.arguments import Arguments
from nbaccel.scheduling.events import CallsEnded, CallsOpened
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import Task, Terms

Told = list[wire.StraightCall]


class CallHistory(Protocol):
    """Writes down what has ended."""

    def calls_ended(
        self, terms: Terms, told: Told, make: Callable[[wire.StraightCall], Task], *, on_devices: bool
    ) -> None: ...


class CallsAsTold:
    """The calls of actors that have no record yet."""

    def __init__(
        self, scheduler: Scheduler, objects: Objects, arguments: Arguments, tell: Tell, history: CallHistory
    ) -> None:
        self._unseen = scheduler.unseen
        self._objects = objects
        self._arguments = arguments
        self._tell = tell
        self._history = history
        self._open: dict[bytes, int] = {}  # actor -> its calls under way that have no record: they keep it alive

    def opened(self, peer: Peer, actor: ActorEntry, told: Told) -> None:
        """Calls of a living actor are under way, that have no record."""
        terms = peer.templates[told[0].template]

        def make(call: wire.StraightCall) -> Task:
            task = task_told(peer, actor, call)
            self._arguments.pin(entry_of(task).submit, terms)
            self._less(actor.actor_id, 1)
            return task

        if actor.actor_id not in self._open:
            self._objects.pin((actor.actor_id,))
        self._open[actor.actor_id] = self._open.get(actor.actor_id, 0) + len(told)
        self._tell(CallsOpened(terms, [call.task_id for call in told], told, make))

    def ended(self, peer: Peer, actor: ActorEntry, told: Told) -> None:
        """Calls that have no record have returned."""
        terms = peer.templates[told[0].template]

        def make(call: wire.StraightCall) -> Task:
            return ended_task(peer, actor, call)

        ids = [call.task_id for call in told]
        open_before = len(self._unseen.open)
        self._tell(CallsEnded(terms, ids, told, make))
        self._less(actor.actor_id, open_before - len(self._unseen.open))
        self._history.calls_ended(terms, told, make, on_devices=bool(actor.device_ids))

    def _less(self, actor_id: bytes, number: int) -> None:
        """So many of its calls have ended, or have got a record."""
        left = self._open.get(actor_id, 0) - number
        if left > 0:
            self._open[actor_id] = left
        elif self._open.pop(actor_id, None) is not None:
            self._objects.unpin_later((actor_id,))


def alike(told: Told) -> Iterator[Told]:
    """Calls of one actor with the same terms that follow each other, together."""
    for _, group in groupby(told, key=_kind):
        yield list(group)


def _kind(call: wire.StraightCall) -> tuple[int, bytes]:
    return call.template, call.actor_id


def task_told(peer: Peer, actor: ActorEntry, call: wire.StraightCall) -> Task:
    """The task of a call that was told."""
    terms, client_id = peer.templates[call.template], peer.client_id
    submit = wire.Submit(call.task_id, call.template, actor_id=actor.actor_id)
    entry = TaskEntry(submit, terms, client_id, call.sent_at, is_straight=True)
    entry.worker_id, entry.node_id, entry.device_ids = actor.worker_id, actor.node_id, actor.device_ids
    return Task(
        terms,
        call.task_id,
        entry,
        actor_id=actor.actor_id,
        caller=client_id.to_bytes(8, "big"),
        submitted_at=call.sent_at,
        is_straight=True,
    )


def ended_task(peer: Peer, actor: ActorEntry, call: wire.StraightCall) -> Task:
    """The task of one that has returned, and of which nobody had told before."""
    task = task_told(peer, actor, call)
    entry = entry_of(task)
    entry.pinned = False
    note_times(entry, call.times)
    return task


def note_times(entry: TaskEntry, times: list[float]) -> None:
    entry.times = times
    entry.started_at = times[0] if times else entry.submitted_at
    entry.finished_at = times[-1] if times else time.time()


def note_answer(entry: TaskEntry, times: list[float]) -> None:
    """A call that failed with its actor had been answered before."""
    entry.failed, entry.note, entry.error_type = False, "", ""
    note_times(entry, times)
