"""The ends of tasks: results and errors become objects, waiting clients are told, and arguments are unpinned."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from nbaccel.local_engine import wire
from nbaccel.local_engine.head import outcomes
from nbaccel.local_engine.head.actors import Actors
from nbaccel.local_engine.head.connections import Send
from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.objects import delivery, ledger, lineage
from nbaccel.local_engine.head.objects.context import ObjectContext
from nbaccel.local_engine.head.objects.delivery import PUSH_BYTES
from nbaccel.local_engine.head.outcomes import WorkerEnding
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import CANCELLED, TaskEntry, entry_of
from nbaccel.local_engine.head.tasks.arguments import Arguments
from nbaccel.local_engine.head.tasks.streams import StreamRelay
from nbaccel.local_engine.wire.ids import return_id, task_of
from nbaccel.scheduling.commands import Command, FailTask, FinishTasks
from nbaccel.scheduling.events import ArgumentFailed
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import ACTOR_CREATION, Task


class ErrorNews(Protocol):
    """The component that reports errors that nobody reads."""

    def read(self, ids: Iterable[bytes]) -> None: ...
    def tell(self, entry: TaskEntry) -> None: ...
    def constructor_failed(self, entry: TaskEntry) -> None: ...


class Conclusions:
    """Writes the results and errors of tasks that have ended."""

    def __init__(
        self,
        scheduler: Scheduler,
        context: ObjectContext,
        arguments: Arguments,
        streams: StreamRelay,
        actors: Actors,
        unread_errors: ErrorNews,
        endings: Mapping[bytes, WorkerEnding],
        tell: Tell,
        ended: Callable[[Task], None],
        peers: Mapping[int, Peer],
        send: Send,
    ) -> None:
        self._scheduler = scheduler
        self._context = context
        self._objects = context.objects
        self._arguments = arguments
        self._streams = streams
        self._actors = actors
        self._unread_errors = unread_errors
        self._endings = endings  # of dead workers
        self._tell = tell
        self._ended = ended  # called with each task that is over
        self._peers = peers
        self._send = send
        self.answer: Callable[[Command, Exception], None] = _raise  # of an order about one task that failed
        self.ready: list[bytes] = []  # objects that have arrived, for `CommandHandlers`: tasks may wait for them

    def finish(self, command: FinishTasks) -> None:
        """Write the results of tasks that have returned; waiting clients get them.

        An error about one of several is answered for it alone.
        """
        client_id, said = 0, wire.ObjectValues([], [])
        for task in command.tasks:
            try:
                entry = entry_of(task)
                data = self._plain_result(task, entry)
                if data is None:
                    self._finish_one(task, entry)
                    continue
                id = return_id(task.task_id, 0)
                if entry.client_id != client_id:
                    said = self._begin(entry.client_id, id, data)
                    client_id = entry.client_id  # only now: what could not be begun is begun for the next one
                else:
                    said.object_ids.append(id)
                    said.data.append(data)
                entry.submit.args = b""
                entry.results, entry.written, entry.pinned = None, 1, False  # last: until here it may be done again
            except Exception as error:
                if len(command.tasks) == 1:
                    raise
                self.answer(FinishTasks([task]), error)

    def _finish_one(self, task: Task, entry: TaskEntry) -> None:
        results = entry.results
        self._ended(task)
        if results is not None:
            self._write_results(task, entry, results)
        entry.results = None
        if self._objects.can_be_lost and results is not None and lineage.made(self._context, task, entry):
            return  # the arguments stay pinned while the task may have to run again
        self._arguments.let_go(entry, task)

    def _begin(self, client_id: int, id: bytes, data: bytes) -> wire.ObjectValues:
        """A message of results to this client, which leaves with the next flush: others may join the first one."""
        said = wire.ObjectValues([id], [data])
        peer = self._peers.get(client_id)
        if peer is not None:
            self._send(peer, said)
        return said

    def _plain_result(self, task: Task, entry: TaskEntry) -> bytes | None:
        """The bytes of the result, written down, if only its submitter is to be told of it and nothing else is due."""
        submit = entry.submit
        results = entry.results
        if results is None or not task.terms.is_plain or entry.failed or self._objects.can_be_lost:
            return None
        if submit.slots or submit.refs or entry.retryable:
            return None
        result = results[0]
        id = return_id(task.task_id, 0)
        data = result.value.data
        if data is None or result.refs or len(data) > PUSH_BYTES:
            return None
        if not ledger.fill_plainly(self._objects, id, result.value, entry.client_id):
            return None
        self._ended(task)
        return data

    def conclude(self, task: Task, entry: TaskEntry, results: list[wire.ReturnValue]) -> None:
        """Write the results whose writing was interrupted, and announce all of them again."""
        self._write_results(task, entry, results)
        entry.results = None
        self._arguments.let_go(entry, task)

    def creation_failed(self, entry: TaskEntry, value: wire.Value) -> None:
        """Record the error of a constructor: no call may ever report it."""
        self._actors.creation_failed(entry, value)
        self._unread_errors.constructor_failed(entry)

    def _write_results(self, task: Task, entry: TaskEntry, results: list[wire.ReturnValue]) -> None:
        terms = entry.terms
        if terms.returns == 0 and terms.kind is not ACTOR_CREATION:
            self._unread_errors.tell(entry)
        for index, (id, result) in enumerate(outcomes.objects_of(task, results)):
            self._write_result(id, index, entry, result)
        if terms.num_returns == wire.STREAMING and terms.returns:
            self._streams.end(task, entry, results)
            lineage.stream_ended(self._context, task.task_id, entry, results[0].value)

    def _write_result(self, id: bytes, index: int, entry: TaskEntry, result: wire.ReturnValue) -> None:
        """Write one result; a result that is written already is only announced again."""
        if index < entry.written:
            delivery.announce_again(self._context, id, entry.client_id)
        else:
            filled = ledger.fill(self._objects, id, result.value, result.refs)
            entry.written = index + 1
            delivery.filled(self._context, id, filled, result.value, entry.client_id)

    def arrived(self, id: bytes, value: wire.Value) -> None:
        """Handle the arrival of an object that is an argument of a task: tasks may wait for it."""
        if value.status == wire.OK:
            self.ready.append(id)
        else:
            self._fail_waiting(id, value)

    def _fail_waiting(self, id: bytes, value: wire.Value) -> None:
        """Fail the tasks that wait for a failed argument, with the argument's error."""
        self._unread_errors.read([id])
        for task in self._scheduler.waiting_for(id):
            self.fail_for_argument(task, id, value)
            self._tell(ArgumentFailed(task.task_id, entry_of(task).error_type == CANCELLED))

    def fail_for_argument(self, task: Task, id: bytes, value: wire.Value) -> None:
        """Write an argument's error as the results of a task that never ran."""
        entry = entry_of(task)
        outcomes.note_failed_argument(entry, self._scheduler.task_record(task_of(id)), time.time())
        self._ended(task)
        if task.kind is ACTOR_CREATION:
            self.creation_failed(entry, value)
        self._write_results(task, entry, outcomes.same_for_all(entry, value))
        self._arguments.let_go(entry, task)

    def fail(self, command: FailTask) -> None:
        """Write an error as the results of a task that ends without having returned."""
        task, entry = command.task, entry_of(command.task)
        outcomes.note_failure(entry, command, time.time())
        self._ended(task)
        if task.kind is ACTOR_CREATION:
            self._unread_errors.constructor_failed(entry)
        if entry.is_direct:  # its caller has no result, and waits for what became of the actor
            ledger.promise(self._objects, return_id(task.task_id, 0), entry.client_id)
        actor = self._actors.by_id.get(command.actor_id or task.actor_id or b"")
        worker_id = entry.worker_id or (actor.worker_id if actor is not None else b"")
        ending = self._endings.get(worker_id, outcomes.UNKNOWN_ENDING)
        value = outcomes.failure_value(command, actor, ending)
        self._write_results(task, entry, outcomes.same_for_all(entry, value))
        entry.results = None
        self._arguments.let_go(entry, task)


def _raise(command: Command, error: Exception) -> None:
    raise error
