"""Delays sending a task until its arguments are back from disk; later tasks for the same worker wait behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.objects.context import Refused
from nbaccel.local_engine.head.objects.store import NOBODY
from nbaccel.local_engine.head.objects.tables import ObjectTables
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.head.records import TaskEntry, WorkerProcess, entry_of
from nbaccel.scheduling.commands import SendTasks

WhenHere = Callable[[bytes, int, Callable[[], None], Refused], None]  # Store.when_here


class DelayedSends:
    """`transmit` sends a task; `answer` answers a task that could not be sent."""

    def __init__(
        self,
        timers: LoopTimers,
        objects: ObjectTables,
        when_here: WhenHere,
        workers: Mapping[bytes, WorkerProcess],
        *,
        transmit: Callable[[SendTasks, WorkerProcess, TaskEntry], None],
        answer: Callable[[SendTasks, Exception], None],
    ) -> None:
        self._timers = timers
        self._objects = objects
        self._when_here = when_here
        self._workers = workers
        self._transmit = transmit
        self._answer = answer

    def holds_back(self, command: SendTasks, worker: WorkerProcess, entry: TaskEntry) -> bool:
        """Whether the task has to wait for its arguments or behind others. If so, it is sent from here later."""
        if not worker.held and (not entry.submit.slots or self._on_disk(entry.submit) is None):
            return False
        worker.held.append(command)  # behind others whatever it needs: calls keep their order
        if len(worker.held) == 1:
            self._keep_for(worker, entry.submit)
            self._send(worker)
        return True

    def forget(self, command: SendTasks) -> None:
        """Do not send this task any more; send the tasks behind it."""
        worker = self._workers.get(command.worker_id)
        if worker is not None and any(held is command for held in worker.held):
            worker.held = [held for held in worker.held if held is not command]
            self._keep_for_first(worker)
            self._timers.after(0, lambda: self._send(worker))

    def _send(self, worker: WorkerProcess) -> None:
        """Send, in order, what waits for nothing more."""
        while worker.held:
            command = worker.held[0]
            try:
                if not self._sent_or_gone(worker, command):
                    return
            except Exception as error:
                self._answer(command, error)  # which forgets it
                return
            del worker.held[0]
            self._keep_for_first(worker)

    def _sent_or_gone(self, worker: WorkerProcess, command: SendTasks) -> bool:
        """False while an argument of it is on its way back."""
        entry = entry_of(command.task)
        if entry.pinned and not worker.ended:
            if self._bring_back(worker, entry.submit):
                return False
            self._transmit(command, worker, entry)
        return True

    def _on_disk(self, submit: wire.Submit) -> bytes | None:
        """An argument that is not in the arena."""
        for _place, id in submit.slots:
            record = self._objects.records.get(id)
            if record is not None and record.spilled:
                return id
        return None

    def _keep_for_first(self, worker: WorkerProcess) -> None:
        self._keep_for(worker, entry_of(worker.held[0].task).submit if worker.held else None)

    def _keep_for(self, worker: WorkerProcess, submit: wire.Submit | None) -> None:
        """What this task asks for, and is in the arena, stays there until all has come."""
        for change, of in ((-1, worker.keeps), (1, submit)):
            for _place, id in of.slots if of is not None else ():
                record = ledger.own(self._objects, id)
                if record is not None:
                    record.kept += change
        worker.keeps = submit

    def _bring_back(self, worker: WorkerProcess, submit: wire.Submit) -> bool:
        """Whether an argument is on its way back from disk."""
        id = self._on_disk(submit)
        if id is None or id in worker.refused:
            return False

        def refused(why: str) -> None:
            worker.refused[id] = why
            self._send(worker)

        self._when_here(id, NOBODY, lambda: self._send(worker), refused)
        return True
