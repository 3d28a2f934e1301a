"""Bursts: plain tasks that come together, and those that return together, are dealt with once for all of them.

What follows is what would follow from each of them in turn, but that a worker is sent its next tasks when all that have
returned are dealt with. An event that is not as it promises is refused; its sender then tells of each task alone.
"""

from __future__ import annotations

from itertools import islice

from nbaccel.scheduling.commands import Command, FinishTasks
from nbaccel.scheduling.events import TasksReturned, TasksSubmitted
from nbaccel.scheduling.loans import Loans
from nbaccel.scheduling.moves import BUSY, FINISHED, IllegalEvent
from nbaccel.scheduling.tasks import TaskRecord, TaskTable
from nbaccel.scheduling.terms import TaskKind
from nbaccel.scheduling.workers import WorkerRecord, WorkerTable


class Bursts:
    """Many plain tasks in one event."""

    def __init__(self, out: list[Command], tasks: TaskTable, workers: WorkerTable, loans: Loans) -> None:
        self._out = out
        self._tasks = tasks
        self._workers = workers
        self._loans = loans

    def submitted(self, event: TasksSubmitted, now: float) -> list[TaskRecord]:
        """All of them to the end of their line."""
        tasks = event.tasks
        terms, caller = tasks[0].terms, tasks[0].caller
        ids = {task.task_id for task in tasks}
        if len(ids) != len(tasks) or not self._tasks.records.keys().isdisjoint(ids):
            raise IllegalEvent("TasksSubmitted", f"tasks {terms.name}", "new", (), "An id is in use.")
        for task in tasks:
            is_alike = task.terms is terms and task.caller == caller
            if not is_alike or task.missing or task.parent_task_id or task.owner_worker:
                raise IllegalEvent("TasksSubmitted", f"tasks {terms.name}", "new", (), "They are not alike.")
        if terms.kind is not TaskKind.TASK:
            raise IllegalEvent("TasksSubmitted", f"tasks {terms.name}", "new", (), "They are no plain tasks.")
        return self._tasks.line_up_new(tasks, self._workers.pool_of(terms.pool), now)

    def returned(self, worker: WorkerRecord, event: TasksReturned, now: float) -> None:
        """They are over, and the worker goes on with those behind them."""
        records = list(islice(worker.queue, len(event.task_ids)))
        ids = [record.task.task_id for record in records]
        if worker.state is not BUSY or ids != event.task_ids:
            state, story = worker.state.name, worker.story
            raise IllegalEvent("TasksReturned", str(worker), state, story, "It runs others or none.")
        for record in records:
            if record.state >= FINISHED or record.task.terms.max_calls or worker.hold is None or worker.hold.parts:
                raise IllegalEvent("TasksReturned", str(record), record.state.name, record.story, "It is not plain.")
        for _ in records:
            worker.queue.popleft()
        worker.used = True
        worker.loaded = worker.loaded or event.loaded
        self._tasks.finish_all(records, now)
        self._out.append(FinishTasks([record.task for record in records]))
        self._loans.went_on(worker, records, event.took_s, now)
