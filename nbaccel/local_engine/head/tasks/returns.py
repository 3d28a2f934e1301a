"""Messages of workers about the tasks that they run. The scheduler learns of a return after a look at its devices."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from itertools import islice
from typing import Any, Protocol

from nbaccel.local_engine import wire
from nbaccel.local_engine.head import outcomes
from nbaccel.local_engine.head.connections import Handler
from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.devices.nodes import Assigned
from nbaccel.local_engine.head.environments import Environments
from nbaccel.local_engine.head.notes import Note
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.objects.tables import ObjectTables
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import TaskEntry, WorkerProcess, entry_of
from nbaccel.local_engine.wire import failures
from nbaccel.scheduling.events import (
    ActorKillAsked,
    TaskReturn,
    TasksGivenBack,
    TasksReturned,
    WorkerBlocked,
    WorkerUnblocked,
)
from nbaccel.scheduling.moves import FINISHED
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import ACTOR_CREATION


class Judge(Protocol):
    """The component that judges what a task has left on its devices."""

    def judge(self, worker: WorkerProcess, record: Any, done: wire.Done, then: Callable[[str], None]) -> None: ...


class Returns:
    """Handles the messages of workers about their tasks."""

    def __init__(
        self,
        scheduler: Scheduler,
        objects: ObjectTables,
        environments: Environments,
        tell: Tell,
        note: Note,
        leftovers: Judge,
        *,
        filled: Callable[[wire.Value, int], None],
        creation_failed: Callable[[TaskEntry, wire.Value], None],
        after_failure: Callable[[bytes, Assigned, Callable[[], None]], None],
        changed: Callable[[], None],
    ) -> None:
        self._scheduler = scheduler
        self._objects = objects
        self._environments = environments
        self._tell = tell
        self._note = note
        self._leftovers = leftovers
        self._filled = filled  # checks a process's statement about the arena
        self._creation_failed = creation_failed  # called with the entry and the error of a constructor
        self._after_failure = after_failure  # checks whether the devices of a failed task are still there
        self._changed = changed  # something is different from the last snapshot

    def handlers(self) -> dict[type, Handler]:
        """The messages that workers may send, with their handlers."""
        tell = self._tell
        return {
            wire.Done: self._done,
            wire.Blocked: lambda peer, m: tell(WorkerBlocked(peer.worker.worker_id)),
            wire.Unblocked: lambda peer, m: tell(WorkerUnblocked(peer.worker.worker_id)),
            wire.GivenBack: lambda peer, m: tell(TasksGivenBack(peer.worker.worker_id, m.task_ids)),
            wire.Progress: self._progress,
        }

    def alike(self, peer: Peer, messages: list[Any], start: int) -> int:
        """How many messages from `start` on are answers of plain tasks that ended well, with one small value each."""
        number, record_of = 0, self._scheduler.task_record
        for m in islice(messages, start, None):
            if type(m) is not wire.Done or m.failed or m.fall_back or m.exiting or len(m.results) != 1 or not m.times:
                break
            result = m.results[0]
            record = record_of(m.task_id)
            if result.value.data is None or result.value.status != wire.OK or result.refs or record is None:
                break
            if not record.task.terms.is_plain or record.state >= FINISHED or record.hold is None or record.hold.parts:
                break
            number += 1
        return number

    def take_all(self, peer: Peer, messages: list[wire.Done]) -> None:
        """Write down that these plain tasks have returned, and tell the scheduler."""
        returns, loaded, now = list[TaskReturn](), False, time.time()
        for m in messages:
            record = self._scheduler.task_record(m.task_id)
            assert record is not None
            outcomes.note_done(entry_of(record.task), m, now)
            returns.append(TaskReturn(m.task_id, took_s=max(m.times[-1] - m.times[0], 0.0)))
            loaded = loaded or m.loaded
        peer.worker.last_done_at = messages[-1].times[-1]
        self._tell(TasksReturned(peer.worker.worker_id, returns, loaded))

    def _done(self, peer: Peer, message: wire.Done) -> None:
        worker = peer.worker
        for result in message.results:
            self._filled(result.value, peer.client_id)
        record = self._scheduler.task_record(message.task_id)
        if record is not None and not record.over and not message.fall_back:
            self._write_down(worker, entry_of(record.task), message)
        else:
            for result in message.results:
                ledger.drop(self._objects, result.value)  # nobody waits for the result any more
        if message.exiting:
            self._tell(ActorKillAsked(bytes(worker.running_actor or b""), True, why=failures.ENDED_ITSELF))
        if record is not None and record.hold is not None and record.hold.parts:
            # Before the scheduler learns of the return and gives the devices to the next task.
            self._look_at_devices(worker, record, message)
        else:
            self._returned(worker, message, "")

    def _write_down(self, worker: WorkerProcess, entry: TaskEntry, message: wire.Done) -> None:
        outcomes.note_done(entry, message, time.time())
        if message.failed and message.results and message.results[0].value.status == wire.FAILED:
            self._environments.failed(entry.terms.environment, message.note)
        if entry.started_at is None:
            entry.started_at = worker.last_done_at
        worker.last_done_at = entry.finished_at
        if message.failed and entry.terms.kind is ACTOR_CREATION and message.results:
            self._creation_failed(entry, message.results[0].value)

    def _look_at_devices(self, worker: WorkerProcess, record: Any, message: wire.Done) -> None:
        """Look whether a failed task's devices are still there, and whether its process keeps their memory."""

        def returned(why: str) -> None:
            self._returned(worker, message, why)

        def judge() -> None:
            try:
                self._leftovers.judge(worker, record, message, returned)
            except Exception as error:  # the task has returned anyway, and its devices must become free
                self._note(f"what {record.task.name} changed in its process was not checked:\n{traceback.format_exc()}")
                returned(f"the head failed to see what it kept of its devices: {error}")

        if message.failed and record.hold is not None:
            self._after_failure(record.hold.place.node_id, record.hold.devices, judge)
        else:
            judge()

    def _returned(self, worker: WorkerProcess, message: wire.Done, retire: str) -> None:
        """Tell the scheduler of a return; `retire` says why the process must end before others get its devices."""
        fall_back = message.note if message.fall_back else ""
        record = self._scheduler.task_record(message.task_id)
        again = message.retry and record is not None and record.task.retries_left != 0
        cancelled = message.failed and message.note == "cancelled"
        times = message.times
        # By its worker's clock: ours would also count how long its answer has waited to be read here.
        took_s = max(times[-1] - times[0], 0.0) if times else None
        returned = TaskReturn(message.task_id, message.failed, again, fall_back, retire, cancelled, took_s)
        self._tell(TasksReturned(worker.worker_id, [returned], message.loaded))

    def _progress(self, peer: Peer, message: wire.Progress) -> None:
        record = self._scheduler.task_record(message.task_id)
        if record is not None:
            entry_of(record.task).progress = (message.done, message.total)
            self._changed()
