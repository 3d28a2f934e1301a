"""What the head knows of calls that go straight from a driver to its actor, and of tasks that go to a worker on loan.

```
  driver ── ConnectActor ──► head ── Connected + descriptor ──► driver, worker
  driver ── StraightNews ──► opened: admitted as any call, but not sent; ended: written down; known: see below
                            lost: the driver gets no answer of a task, so we decide what becomes of it
  worker ── CallTold ──► admitted, if the driver has not told of it; then Done, whose result is an object here
```
A call whose result the head has is told by both ends, in any order: `half_told` holds what one of the two has told, so
that a call that has ended is never admitted once more. Whoever comes first, the result is an object from then on: the
driver may give others a ref to it, or let go of it, before the worker's word is read.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable
from typing import Protocol

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Handler, Send
from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.head_records import HeadRecords
from nbaccel.local_engine.head.lent_workers import LentWorkers, LoanEntry
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import ActorEntry, TaskEntry
from nbaccel.local_engine.head.tasks.arguments import Arguments
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling.events import CallsEnded, LentTaskEnded, LentTaskLost, LentTaskTold, TaskReturned, TaskSubmitted
from nbaccel.scheduling.terms import Task
from nbaccel.views.question import Row


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
        lent: LentWorkers,
        send: Send,
        tell: Tell,
        *,
        ended: Callable[[Task], None],
    ) -> None:
        self._scheduler = records.scheduler
        self._actors = records.actors
        self._workers = records.workers
        self._peers = records.peers
        self._objects = records.objects
        self._arguments = arguments
        self._errors = errors
        self._lent = lent
        self._send = send
        self._tell = tell
        self._half_told: dict[int, set[bytes]] = {}  # driver -> calls
        self._ended = ended  # called with a call that the scheduler has never had as open

    def of_drivers(self) -> dict[type, Handler]:
        """The messages that drivers may send, with their handlers."""
        return {wire.StraightNews: self._news, **self._lent.of_both()}

    def of_workers(self) -> dict[type, Handler]:
        """The messages that workers may send, with their handlers."""
        return {wire.CallTold: self._told, **self._lent.of_both()}

    def answers(self) -> list[Row[Peer]]:
        """The questions about connections, with their answers."""
        return [asks.ConnectActor.answered_by(self._wanted), *self._lent.answers()]

    # ---- connections

    def _wanted(self, peer: Peer, asked: asks.ConnectActor) -> None:
        """A driver calls this actor. Only the driver whose job the actor ends with is connected."""
        actor = self._actors.get(asked.actor_id)
        if actor is None or peer.role != "driver" or actor.client_id != peer.client_id:
            return
        if actor.terms.is_async or not actor.terms.actor.is_plain:
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
        for peer, end in zip((worker.peer, driver), ends, strict=True):
            peer.descriptors.append(end.detach())
            self._send(peer, wire.Connected(actor.actor_id))

    # ---- calls

    def _news(self, peer: Peer, message: wire.StraightNews) -> None:
        unseen = [task for call in message.ended if (task := self._ended_one(peer, call)) is not None]
        if unseen:
            self._tell(CallsEnded(unseen))
            for task in unseen:
                self._ended(task)
        for call in message.opened:  # only now: a worker on loan runs one task after the other
            self._opened(peer, call)
        for task_id in message.promised:
            self._promised(peer, task_id)
        for task_id in message.known:
            self._one_end_told(peer.client_id, task_id)
        for task_id, begun in message.lost:
            self._lost(peer, task_id, begun)

    def _opened(self, peer: Peer, call: wire.StraightCall) -> None:
        if call.task_id not in self._half_told.get(peer.client_id, ()):
            self._admit(peer, self._callee_of(peer.client_id, call), call)

    def _callee_of(self, client_id: int, call: wire.StraightCall) -> ActorEntry | LoanEntry:
        loan = self._lent.entries.get(call.actor_id)
        if loan is not None and loan.client_id == client_id:
            return loan
        actor = self._actors.get(call.actor_id)
        if actor is None or actor.client_id != client_id or not actor.line:
            raise ValueError("news of a call to an actor or a worker to which no connection was given")
        return actor

    def _admit(
        self, peer: Peer, callee: ActorEntry | LoanEntry, call: wire.StraightCall, *, is_ours: bool = False
    ) -> None:
        """A call is under way at its actor, or was when the actor died: then the scheduler says that it failed.

        `is_ours`: a worker on loan has told of it.
        """
        if self._scheduler.task_record(call.task_id) is not None:
            return
        task = self._task(peer, callee, call)
        task.is_straight = task.payload.is_straight = not is_ours
        task.payload.started_at = call.sent_at if task.loan else None
        self._arguments.pin(task.payload.submit, task.terms)
        self._tell(TaskSubmitted(task))

    def _task(self, peer: Peer, callee: ActorEntry | LoanEntry, call: wire.StraightCall) -> Task:
        terms, client_id = peer.templates[call.template], peer.client_id
        actor_id, loan = (call.actor_id, b"") if type(callee) is ActorEntry else (b"", call.actor_id)
        submit = wire.Submit(call.task_id, call.template, call.args, actor_id=actor_id)
        entry = TaskEntry(submit, terms, client_id, call.sent_at, is_straight=True)
        entry.worker_id, entry.node_id, entry.device_ids = callee.worker_id, callee.node_id, callee.device_ids
        return Task(
            terms,
            call.task_id,
            entry,
            actor_id=actor_id or None,
            caller=client_id.to_bytes(8, "big"),
            submitted_at=call.sent_at,
            retries_left=(terms.max_retries or 0) if loan else 0,
            is_straight=True,
            loan=loan,
        )

    def _promised(self, peer: Peer, task_id: bytes) -> None:
        """Others get a ref to the result of an open call. If the call has failed, its result is there."""
        record = self._scheduler.task_record(task_id)
        if record is not None and not record.over:
            record.task.payload.is_promised = True
            self._objects.promise(return_id(task_id, 0), peer.client_id)

    def _ended_one(self, peer: Peer, call: wire.StraightCall) -> Task | None:
        """A call has returned to its caller. Returns it if it was never told as open."""
        record = self._scheduler.task_record(call.task_id)
        if record is None:
            task = self._task(peer, self._callee_of(peer.client_id, call), call)
            task.payload.pinned = False
            _note_times(task.payload, call.times)
            return task
        entry: TaskEntry = record.task.payload
        if not record.over:
            _note_times(entry, call.times)
            entry.results = None if call.value is None else [wire.ReturnValue(call.value)]
            loan = record.task.loan
            self._tell(LentTaskEnded(call.task_id) if loan else TaskReturned(entry.worker_id, call.task_id))
        elif entry.failed and not entry.is_promised:
            # It counted as failed when its actor died, but its answer had left before: the error is nobody's.
            self._errors.read([return_id(call.task_id, 0)])
            self._objects.release(return_id(call.task_id, 0), peer.client_id)
        return None

    def _told(self, peer: Peer, message: wire.CallTold) -> None:
        """An actor, or a worker on loan, tells of a call, whose result is the head's from here on."""
        call = message.call
        callee = self._lent.entries.get(call.actor_id) or self._actors.get(call.actor_id)
        if callee is None and not peer.worker.running_actor:
            return  # its driver has gone
        if callee is None or callee.worker_id != peer.worker.worker_id:
            raise ValueError("a call is told by a worker that is not its actor's")
        driver = self._peers.get(callee.client_id)
        if driver is None or driver.left:
            return  # the actor ends with its driver
        self._one_end_told(driver.client_id, call.task_id)
        record = self._scheduler.task_record(call.task_id)
        if record is None or not record.over:
            self._is_ours(driver, callee, call)

    def _is_ours(self, driver: Peer, callee: ActorEntry | LoanEntry, call: wire.StraightCall) -> None:
        """The result of this call will be an object here; a task on loan is from here on one like any other."""
        self._admit(driver, callee, call, is_ours=type(callee) is LoanEntry)
        record = self._scheduler.task_record(call.task_id)
        if record is not None and not record.over:
            record.task.payload.is_straight = False
            if record.task.loan:
                self._tell(LentTaskTold(call.task_id))

    def _lost(self, peer: Peer, task_id: bytes, begun: bool) -> None:
        """A driver has lost a worker on loan: the result of this task is ours from here on, if it gets one."""
        self._half_told.get(peer.client_id, set()).discard(task_id)
        record = self._scheduler.task_record(task_id)
        if record is None or record.over or not record.task.is_straight or not record.task.loan:
            return
        record.task.payload.is_straight = False
        record.task.payload.started_at = None
        self._objects.promise(return_id(task_id, 0), peer.client_id)
        self._tell(LentTaskLost(task_id, begun))

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
        self._lent.client_gone(client_id)


def _note_times(entry: TaskEntry, times: list[float]) -> None:
    entry.times = times
    entry.started_at = times[0] if times else entry.submitted_at
    entry.finished_at = times[-1] if times else time.time()
