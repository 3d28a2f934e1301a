"""What the head knows of calls that a driver sends directly to its actor. All other parts see them as calls.

```
  driver ── ConnectActor ──► head ── Connected + descriptor ──► driver, worker
  driver ── CallReports ──► opened: admitted as any call, but not sent; ended: written down
  worker ── CallReports ──► opened: admitted, if its driver has not reported it; the head answers for it from now on
                            ── CallsTaken ──► driver
```
A call that the actor reports first is partly reported: its driver will report it too, as open or as taken. So one that
has ended, and may be forgotten, is never admitted once more.

Until somebody looks, the scheduler keeps the calls as their driver has reported them:
```
  CallReports ──► opened, ended ──► CallsOpened, CallsEnded ──► scheduler (lazy_calls) ── somebody looks ──► tasks
```
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Protocol

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Handler, Peer, Send
from nbaccel.local_engine.head.decisions import Notify
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.records import ActorEntry, HeadRecords, TaskEntry, entry_of
from nbaccel.local_engine.head.tasks.submissions import Arguments
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling.events import CallAnswered, CallReturned, CallsEnded, CallsOpened, TasksSubmitted
from nbaccel.scheduling.moves import FAILED
from nbaccel.scheduling.tasks import TaskRecord
from nbaccel.scheduling.terms import Task, Terms
from nbaccel.views.observer_lines import Row

Calls = list[wire.DirectCall]


class CallHistory(Protocol):
    """Writes down what has ended."""

    def calls_ended(
        self, terms: Terms, calls: Calls, make: Callable[[wire.DirectCall], Task], *, on_devices: bool
    ) -> None: ...


class KnownErrors(Protocol):
    """Knows which errors have been read."""

    def read(self, ids: Iterable[bytes]) -> None: ...


class DirectCalls:
    """The direct calls of one head's drivers, and the connections on which they go."""

    def __init__(
        self,
        records: HeadRecords,
        arguments: Arguments,
        errors: KnownErrors,
        send: Send,
        notify: Notify,
        history: CallHistory,
    ) -> None:
        self._scheduler = records.scheduler
        self._lazy = records.scheduler.lazy_calls
        self._actors = records.actors
        self._workers = records.workers
        self._peers = records.peers
        self._objects = records.objects
        self._arguments = arguments
        self._errors = errors
        self._send = send
        self._notify = notify
        self._history = history
        self.partly_reported: dict[int, set[bytes]] = {}  # driver -> calls that only their actors have reported
        self._open: dict[bytes, int] = {}  # actor -> its calls under way that have no record: they keep it alive

    def of_drivers(self) -> dict[type, Handler]:
        """The messages that drivers may send, with their handlers."""
        return {wire.CallReports: self._driver_reports}

    def of_workers(self) -> dict[type, Handler]:
        """The messages that workers may send, with their handlers."""
        return {wire.CallReports: self._actor_reports}

    def answers(self) -> list[Row[Peer]]:
        """The questions about connections, with their answers."""
        return [asks.ConnectActor.answered_by(self._wanted)]

    # ---- connections

    def _wanted(self, peer: Peer, asked: asks.ConnectActor) -> None:
        """A driver calls this actor. Only the driver whose job the actor ends with is connected."""
        actor = self._actors.get(asked.actor_id)
        if actor is None or peer.role != "driver" or actor.client_id != peer.client_id:
            return
        if not actor.terms.takes_direct_calls:
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

    # ---- what an actor reports

    def _actor_reports(self, peer: Peer, message: wire.CallReports) -> None:
        """The results of these calls are the head's from here on."""
        actor = self._actors.get(message.opened[0].actor_id) if message.opened else None
        if actor is None or actor.worker_id != peer.worker.worker_id:
            raise ValueError("a call is reported by a worker that is not its actor's")
        driver = self._peers.get(actor.client_id)
        if driver is None or driver.left:
            return  # the actor ends with its driver
        for call in message.opened:
            self._take(driver, actor, call)
        self._send(driver, wire.CallsTaken([call.task_id for call in message.opened]))

    def _take(self, driver: Peer, actor: ActorEntry, call: wire.DirectCall) -> None:
        record = self._scheduler.task_record(call.task_id)
        if record is None:
            self.partly_reported.setdefault(driver.client_id, set()).add(call.task_id)
            self._admit(driver, actor, call)
            record = self._scheduler.task_record(call.task_id)
        if record is not None and not record.over:
            entry_of(record.task).is_direct = False
            ledger.promise(self._objects, return_id(call.task_id, 0), driver.client_id)

    # ---- what a driver reports

    def _driver_reports(self, peer: Peer, message: wire.CallReports) -> None:
        if message.ended:
            self._all_ended(peer, message.ended)
        if message.opened:
            self._all_opened(peer, message.opened)
        for task_id in message.promised:
            self._promised(peer, task_id)
        if message.taken:
            self._are_reported(peer.client_id, message.taken)

    def _are_reported(self, client_id: int, task_ids: Iterable[bytes]) -> set[bytes]:
        """Those of the calls that their actors have reported before; now both ends have."""
        partly = self.partly_reported.get(client_id)
        if not partly:
            return set()
        both = partly.intersection(task_ids)
        partly -= both
        return both

    def _all_opened(self, peer: Peer, calls: Calls) -> None:
        before = self._are_reported(peer.client_id, [call.task_id for call in calls])
        for alike in _alike([call for call in calls if call.task_id not in before] if before else calls):
            actor = self._actor_of(peer.client_id, alike[0])
            if actor.state == "ALIVE":
                fresh = [call for call in alike if self._lazy.record(call.task_id) is None]
                if fresh:
                    self._opened(peer, actor, fresh)
            else:
                for call in alike:
                    self._admit(peer, actor, call)

    def _opened(self, peer: Peer, actor: ActorEntry, calls: Calls) -> None:
        """Calls of a living actor are under way, that have no record."""
        terms = peer.templates[calls[0].template]

        def make(call: wire.DirectCall) -> Task:
            task = _task_of(peer, actor, call)
            self._arguments.pin(entry_of(task).submit, terms)
            self._less(actor.actor_id, 1)
            return task

        if actor.actor_id not in self._open:
            ledger.pin(self._objects, (actor.actor_id,))
        self._open[actor.actor_id] = self._open.get(actor.actor_id, 0) + len(calls)
        self._notify(CallsOpened(terms, [call.task_id for call in calls], calls, make))

    def _less(self, actor_id: bytes, number: int) -> None:
        """So many of its calls have ended, or have got a record."""
        left = self._open.get(actor_id, 0) - number
        if left > 0:
            self._open[actor_id] = left
        elif self._open.pop(actor_id, None) is not None:
            ledger.unpin_later(self._objects, (actor_id,))

    def _all_ended(self, peer: Peer, calls: Calls) -> None:
        """Calls have returned to their caller."""
        for alike in _alike(calls):
            fresh = []
            for call in alike:
                record = self._lazy.record(call.task_id)
                if record is None:
                    fresh.append(call)
                else:
                    self._recorded_ended(peer, record, call)
            if fresh:
                self._unrecorded_ended(peer, fresh)

    def _unrecorded_ended(self, peer: Peer, calls: Calls) -> None:
        """Calls that have no record have returned."""
        actor = self._actor_of(peer.client_id, calls[0])
        if actor.state == "DEAD":
            calls = [call for call in calls if not self._had_failed(peer, call)]
        if not calls:
            return
        terms = peer.templates[calls[0].template]

        def make(call: wire.DirectCall) -> Task:
            return _ended_task_of(peer, actor, call)

        open_before = len(self._lazy.open)
        self._notify(CallsEnded(terms, [call.task_id for call in calls], calls, make))
        self._less(actor.actor_id, open_before - len(self._lazy.open))
        self._history.calls_ended(terms, calls, make, on_devices=bool(actor.device_ids))

    def _recorded_ended(self, peer: Peer, record: TaskRecord, call: wire.DirectCall) -> None:
        """A call that has a record has returned to its caller."""
        entry = entry_of(record.task)
        if not record.over:
            _note_times(entry, call.times)
            entry.results = None if call.value is None else [wire.ReturnValue(call.value)]
            self._notify(CallReturned(entry.worker_id, call.task_id))
        elif record.state is FAILED and not entry.is_promised:
            entry.failed, entry.note, entry.error_type = False, "", ""  # it had been answered before its actor died
            _note_times(entry, call.times)
            self._take_back(peer, record.task.terms, call.task_id)

    def _promised(self, peer: Peer, task_id: bytes) -> None:
        """Others get a ref to the result of an open call. If the call has failed, its result is there."""
        record = self._scheduler.task_record(task_id)
        if record is not None and not record.over:
            entry_of(record.task).is_promised = True
            ledger.promise(self._objects, return_id(task_id, 0), peer.client_id)

    def _actor_of(self, client_id: int, call: wire.DirectCall) -> ActorEntry:
        actor = self._actors.get(call.actor_id)
        if actor is None or actor.client_id != client_id or not actor.line:
            raise ValueError("a report of a call to an actor to which no connection was given")
        return actor

    def _admit(self, peer: Peer, actor: ActorEntry, call: wire.DirectCall) -> None:
        """A call is under way at its actor, or was when the actor died: then the scheduler says that it failed."""
        if self._scheduler.task_record(call.task_id) is not None:
            return
        task = _task_of(peer, actor, call)
        self._arguments.pin(entry_of(task).submit, task.terms)
        self._notify(TasksSubmitted([task]))

    # ---- calls that failed with their actor, and had been answered before

    def _had_failed(self, peer: Peer, call: wire.DirectCall) -> bool:
        """Whether a call without a record failed when its actor died, with so many others that it was forgotten."""
        result = self._objects.records.get(return_id(call.task_id, 0))
        if result is None or result.owner != peer.client_id or result.value is None or result.value.status == wire.OK:
            return False
        self._take_back(peer, peer.templates[call.template], call.task_id)
        return True

    def _take_back(self, peer: Peer, terms: Terms, task_id: bytes) -> None:
        """A call failed when its actor died, but its answer had left before: the error is nobody's."""
        self._errors.read([return_id(task_id, 0)])
        ledger.release(self._objects, return_id(task_id, 0), peer.client_id)
        self._notify(CallAnswered(terms, task_id))

    def client_gone(self, client_id: int) -> None:
        """A driver has ended."""
        self.partly_reported.pop(client_id, None)


def _alike(calls: Calls) -> Iterator[Calls]:
    """Calls of one actor with the same terms that follow each other, together."""
    for _, group in groupby(calls, key=_kind):
        yield list(group)


def _kind(call: wire.DirectCall) -> tuple[int, bytes]:
    return call.template, call.actor_id


def _task_of(peer: Peer, actor: ActorEntry, call: wire.DirectCall) -> Task:
    """The task of a call that was reported."""
    terms, client_id = peer.templates[call.template], peer.client_id
    submit = wire.Submit(call.task_id, call.template, actor_id=actor.actor_id)
    entry = TaskEntry(submit, terms, client_id, call.sent_at, is_direct=True)
    entry.worker_id, entry.node_id, entry.device_ids = actor.worker_id, actor.node_id, actor.device_ids
    return Task(
        terms,
        call.task_id,
        entry,
        actor_id=actor.actor_id,
        caller=client_id.to_bytes(8, "big"),
        submitted_at=call.sent_at,
        is_direct=True,
    )


def _ended_task_of(peer: Peer, actor: ActorEntry, call: wire.DirectCall) -> Task:
    """The task of one that has returned, and that nobody had reported before."""
    task = _task_of(peer, actor, call)
    entry = entry_of(task)
    entry.pinned = False
    _note_times(entry, call.times)
    return task


def _note_times(entry: TaskEntry, times: list[float]) -> None:
    entry.times = times
    entry.started_at = times[0] if times else entry.submitted_at
    entry.finished_at = times[-1] if times else time.time()
