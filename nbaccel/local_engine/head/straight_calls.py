"""What the head knows of calls that go straight from a driver to its actor.

```
  driver ── ConnectActor ──► head ── Connected + descriptor ──► driver, worker
  driver ── StraightNews ──► opened: admitted as any call, but not sent; ended: written down; known: see below
  worker ── CallTold ──► admitted, if the driver has not told of it; then Done, whose result is an object here
```
A call whose result the head has is told by both ends, in any order: `half_told` holds what one of the two has told, so
that a call that has ended is never admitted once more. Whoever comes first, the result is an object from then on: the
driver may give others a ref to it, or let go of it, before the worker's word is read.

Until somebody looks, the scheduler keeps the calls as their driver has told of them:
```
  StraightNews ──► opened, ended ──► CallsOpened, CallsEnded ──► scheduler (unseen_calls) ── somebody looks ──► tasks
```
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Protocol

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Handler, Send
from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.head_records import HeadRecords
from nbaccel.local_engine.head.objects.ledger import Objects
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import ActorEntry, TaskEntry, entry_of
from nbaccel.local_engine.head.tasks.arguments import Arguments
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling.events import (
    CallAnswered,
    CallReturned,
    CallsEnded,
    CallsOpened,
    TasksSubmitted,
)
from nbaccel.scheduling.moves import FAILED
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.tasks import TaskRecord
from nbaccel.scheduling.terms import Task, Terms
from nbaccel.views.question import Row

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


class KnownErrors(Protocol):
    """Knows which errors have been read."""

    def read(self, ids: Iterable[bytes]) -> None: ...


class StraightCallBooks:
    """The head's books of straight calls. All other parts see them as calls."""

    def __init__(
        self,
        records: HeadRecords,
        arguments: Arguments,
        errors: KnownErrors,
        send: Send,
        tell: Tell,
        history: CallHistory,
    ) -> None:
        self._scheduler = records.scheduler
        self._actors = records.actors
        self._workers = records.workers
        self._peers = records.peers
        self._objects = records.objects
        self._arguments = arguments
        self._errors = errors
        self._send = send
        self._tell = tell
        self._half_told: dict[int, set[bytes]] = {}  # driver -> calls
        self._is_seen = records.scheduler.unseen.is_seen
        self._as_told = CallsAsTold(records.scheduler, records.objects, arguments, tell, history)

    def of_drivers(self) -> dict[type, Handler]:
        """The messages that drivers may send, with their handlers."""
        return {wire.StraightNews: self._news}

    def of_workers(self) -> dict[type, Handler]:
        """The messages that workers may send, with their handlers."""
        return {wire.CallTold: self._told}

    def answers(self) -> list[Row[Peer]]:
        """The questions about connections, with their answers."""
        return [asks.ConnectActor.answered_by(self._wanted)]

    # ---- connections

    def _wanted(self, peer: Peer, asked: asks.ConnectActor) -> None:
        """A driver calls this actor. Only the driver whose job the actor ends with is connected."""
        actor = self._actors.get(asked.actor_id)
        if actor is None or peer.role != "driver" or actor.client_id != peer.client_id:
            return
        if not actor.terms.takes_straight_calls:
            return
        actor.wants_line = True
        if actor.state == "ALIVE":
            self.lives(actor)

    def lives(self, actor: ActorEntry) -> None:
        """The actor can be called: connect it with its driver, if that has asked for it."""
        if not actor.wants_line or actor.line:
            return
        driver, worker = self._peers.get(actor.client_id), self._workers.get(actor.worker_id)
        if driver is None or driver.left or worker is None or worker.ended or worker.peer is None:
            return
        try:
            ends = socket.socketpair()
        except OSError:
            return  # no descriptor is free: calls go on through the head
        actor.line = True
        with ends[0], ends[1]:  # what has been passed on is not closed
            for peer, end in zip((worker.peer, driver), ends, strict=True):
                self._send(peer, wire.Connected(actor.actor_id, peer.passes(end)))

    # ---- calls

    def _news(self, peer: Peer, message: wire.StraightNews) -> None:
        if message.ended:
            self._all_ended(peer, message.ended)
        if message.opened:
            self._all_opened(peer, message.opened)
        for task_id in message.promised:
            self._promised(peer, task_id)
        for task_id in message.known:
            self._one_end_told(peer.client_id, task_id)

    def _all_opened(self, peer: Peer, told: list[wire.StraightCall]) -> None:
        half_told = self._half_told.get(peer.client_id, ())
        for calls in alike([call for call in told if call.task_id not in half_told]):
            actor = self._actor_of(peer.client_id, calls[0])
            if actor.state == "ALIVE":
                fresh = [call for call in calls if not self._is_seen(call.task_id)]
                if fresh:
                    self._as_told.opened(peer, actor, fresh)
            else:
                for call in calls:
                    self._admit(peer, actor, call)

    def _all_ended(self, peer: Peer, told: list[wire.StraightCall]) -> None:
        """Calls have returned to their caller."""
        for calls in alike(told):
            fresh = []
            for call in calls:
                record = self._scheduler.unseen.record(call.task_id)
                if record is None:
                    fresh.append(call)
                else:
                    self._seen_ended(peer, record, call)
            if fresh:
                self._unseen_ended(peer, fresh)

    def _unseen_ended(self, peer: Peer, calls: list[wire.StraightCall]) -> None:
        actor = self._actor_of(peer.client_id, calls[0])
        if actor.state == "DEAD":
            calls = [call for call in calls if not self._had_failed(peer, call)]
        if calls:
            self._as_told.ended(peer, actor, calls)

    def _actor_of(self, client_id: int, call: wire.StraightCall) -> ActorEntry:
        actor = self._actors.get(call.actor_id)
        if actor is None or actor.client_id != client_id or not actor.line:
            raise ValueError("news of a call to an actor to which no connection was given")
        return actor

    def _admit(self, peer: Peer, actor: ActorEntry, call: wire.StraightCall) -> None:
        """A call is under way at its actor, or was when the actor died: then the scheduler says that it failed."""
        if self._scheduler.task_record(call.task_id) is not None:
            return
        task = task_told(peer, actor, call)
        self._arguments.pin(entry_of(task).submit, task.terms)
        self._tell(TasksSubmitted([task]))

    def _promised(self, peer: Peer, task_id: bytes) -> None:
        """Others get a ref to the result of an open call. If the call has failed, its result is there."""
        record = self._scheduler.task_record(task_id)
        if record is not None and not record.over:
            entry_of(record.task).is_promised = True
            self._objects.promise(return_id(task_id, 0), peer.client_id)

    def _seen_ended(self, peer: Peer, record: TaskRecord, call: wire.StraightCall) -> None:
        """A call that has a record has returned to its caller."""
        entry = entry_of(record.task)
        if not record.over:
            note_times(entry, call.times)
            entry.results = None if call.value is None else [wire.ReturnValue(call.value)]
            self._tell(CallReturned(entry.worker_id, call.task_id))
        elif record.state is FAILED and not entry.is_promised:
            note_answer(entry, call.times)
            self._take_back(peer, record.task.terms, call.task_id)

    def _had_failed(self, peer: Peer, call: wire.StraightCall) -> bool:
        """Whether a call without a record failed when its actor died, with so many others that it was forgotten."""
        result = self._objects.records.get(return_id(call.task_id, 0))
        if result is None or result.owner != peer.client_id or result.value is None or result.value.status == wire.OK:
            return False
        self._take_back(peer, peer.templates[call.template], call.task_id)
        return True

    def _take_back(self, peer: Peer, terms: Terms, task_id: bytes) -> None:
        """A call failed when its actor died, but its answer had left before: the error is nobody's."""
        self._errors.read([return_id(task_id, 0)])
        self._objects.release(return_id(task_id, 0), peer.client_id)
        self._tell(CallAnswered(terms, task_id))

    def _told(self, peer: Peer, message: wire.CallTold) -> None:
        """An actor tells of a call, whose result is the head's from here on."""
        call = message.call
        actor = self._actors.get(call.actor_id)
        if actor is None or actor.worker_id != peer.worker.worker_id:
            raise ValueError("a call is told by a worker that is not its actor's")
        driver = self._peers.get(actor.client_id)
        if driver is None or driver.left:
            return  # the actor ends with its driver
        self._one_end_told(driver.client_id, call.task_id)
        record = self._scheduler.task_record(call.task_id)
        if record is None or not record.over:
            self._is_ours(driver, actor, call)

    def _is_ours(self, driver: Peer, actor: ActorEntry, call: wire.StraightCall) -> None:
        """The result of this call will be an object here."""
        self._admit(driver, actor, call)
        record = self._scheduler.task_record(call.task_id)
        if record is not None and not record.over:
            entry_of(record.task).is_straight = False

    def _one_end_told(self, client_id: int, task_id: bytes) -> None:
        """One of the two ends has told that the result is an object here, or will be; the second one settles it.

        From the first on others may have a ref to the result. Its driver may have had its last ref before.
        """
        half = self._half_told.setdefault(client_id, set())
        if task_id in half:
            half.discard(task_id)
            return
        half.add(task_id)
        record = self._scheduler.task_record(task_id)
        if record is None or not record.over:
            self._objects.promise_late(return_id(task_id, 0), client_id)

    def client_gone(self, client_id: int) -> None:
        """A driver has ended."""
        self._half_told.pop(client_id, None)
