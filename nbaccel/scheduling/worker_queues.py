"""The events of a worker that runs plain tasks: sending ahead, returns, recalls, blocking, and its death.

A worker serves one shape of tasks at a time. Short tasks are sent ahead of time, so that the worker need not wait for
the head between two of them. All tasks in its queue share one hold; the first one runs.
"""

from __future__ import annotations

from itertools import islice

from nbaccel.scheduling.commands import Command, Failure, RecallTasks, SendTasks
from nbaccel.scheduling.dispatch import Dispatcher
from nbaccel.scheduling.events import TaskReturn, TasksGivenBack
from nbaccel.scheduling.moves import BUSY, FINISHED, IN_GET, RUNNING, STOPPING, SUBMITTED, IllegalEvent
from nbaccel.scheduling.placement import PlacementBook
from nbaccel.scheduling.tasks import Shape, TaskRecord, TaskTable
from nbaccel.scheduling.terms import Task
from nbaccel.scheduling.timers import Timers
from nbaccel.scheduling.workers import WorkerRecord, WorkerTable

SHORT_S = 0.001  # a function whose calls take less on average is sent ahead
LONG_S = 0.005  # a worker whose task runs longer gives back tasks sent ahead
LEARNING = 0.25  # weight of the newest duration in the average
MAX_WINDOW = 16  # tasks that a worker holds; more, up to so many, if all of them take less than AHEAD_S
MAX_SHORT_WINDOW = 64
AHEAD_S = MAX_WINDOW * SHORT_S
MAX_FUNCTIONS = 10_000
MAX_FAILED_STARTS = 3
RECALL_WORTH_S = 0.0005  # fewer seconds of work than this are done before a recalled task could run elsewhere


class WorkerQueues:
    """Workers of plain tasks, from their first task to their death."""

    def __init__(
        self,
        out: list[Command],
        timers: Timers,
        cluster: PlacementBook,
        tasks: TaskTable,
        workers: WorkerTable,
        dispatcher: Dispatcher,
    ) -> None:
        self._out = out
        self._timers = timers
        self._cluster = cluster
        self._tasks = tasks
        self._workers = workers
        self._dispatcher = dispatcher
        self._averages: dict[bytes, float] = {}  # function -> seconds that a call of it takes
        self.ahead: dict[WorkerRecord, None] = {}  # workers that have been sent more than they run
        self._watching = False

    # --- returns --------------------------------------------------------------------------------------------------

    def returned(self, worker: WorkerRecord, returns: list[TaskReturn], loaded: bool, now: float) -> None:
        queue = worker.queue
        records = list(islice(queue, len(returns)))
        are_known, are_plain = worker.state is BUSY and len(records) == len(returns), True
        for r, record in zip(returns, records, strict=False):
            are_known = are_known and record.task.task_id == r.task_id
            is_well = not (r.failed or r.retry or r.fall_back or r.retire)
            are_plain = are_plain and is_well and record.state < FINISHED and record.task.terms.is_plain
        if not are_known:
            if worker.state is STOPPING:
                return
            state, story = worker.state.name, worker.story
            raise IllegalEvent("TasksReturned", str(worker), state, story, "It runs others or none.")
        if len(returns) > 1 and not are_plain:
            record = records[0]
            raise IllegalEvent("TasksReturned", str(record), record.state.name, record.story, "They are not plain.")
        worker.used = True
        worker.loaded = worker.loaded or loaded
        average = 0.0
        for r, record in zip(returns, records, strict=True):
            queue.popleft()
            average = self._learn(record, r, now)
            if record is not records[-1]:
                worker.window = min(worker.window * 2, _most_ahead(average)) if average < SHORT_S else 1
        if are_plain:
            self._tasks.finish_all(records, now)
            self._go_on(worker, records[-1], average, now)
        else:
            self._conclude(records[0], returns[0], now)
            self._go_on_or_retire(worker, records[0], returns[0], average, now)

    def _go_on_or_retire(
        self, worker: WorkerRecord, record: TaskRecord, event: TaskReturn, average: float, now: float
    ) -> None:
        terms = record.task.terms
        if event.retire:
            self._dispatcher.retire(worker, event.retire, now)
        elif terms.max_calls and self._spent(worker, record):
            self._dispatcher.retire(worker, f"{terms.name} has max_calls={terms.max_calls}", now)
        else:
            self._go_on(worker, record, average, now)

    def _learn(self, record: TaskRecord, event: TaskReturn, now: float) -> float:
        """How long a call of this function takes, this one included."""
        took_s = event.took_s
        if took_s is None:
            took_s = now - record.started_at if record.started_at is not None else 0.0
        averages, function_key = self._averages, record.task.terms.function_key
        old = averages.get(function_key)
        if old is None and len(averages) >= MAX_FUNCTIONS:
            averages.clear()
        average = averages[function_key] = took_s if old is None else old + LEARNING * (took_s - old)
        return average

    def _conclude(self, record: TaskRecord, event: TaskReturn, now: float) -> None:
        """Conclude the task itself."""
        if record.state >= FINISHED:  # it was cancelled while it waited in the worker
            return
        if not event.retry and not event.fall_back:
            self._tasks.finish(record, now, event.failed, event.cancelled)
        elif record.cancelled:
            self._tasks.fail(record, Failure.CANCELLED, f"{record.task.name} was cancelled.", now)
        elif event.fall_back:
            self._tasks.fall_back(record, event.fall_back, now)
        else:
            self.retry([record], now)

    def retry(self, records: list[TaskRecord], now: float) -> None:
        """Put the task back into its line, with one retry less."""
        for record in records:
            if record.task.retries_left > 0:
                record.task.retries_left -= 1
            record.attempt += 1
        self._tasks.line_up_again(records, now)

    def _spent(self, worker: WorkerRecord, record: TaskRecord) -> bool:
        calls = worker.calls.get(record.task.terms.function_key, 0) + 1
        worker.calls[record.task.terms.function_key] = calls
        return calls >= record.task.terms.max_calls

    def _go_on(self, worker: WorkerRecord, done: TaskRecord, average: float, now: float) -> None:
        """The next task of the queue runs now; send more tasks ahead, or end it."""
        hold = worker.hold
        assert hold is not None
        if hold.lent:  # a thread of the task still waits for something: the task is over all the same
            self._cluster.reclaim_cpu(hold)
        queue, shape = worker.queue, worker.shape
        if queue:
            self._next(worker, queue[0], now)
        if average < SHORT_S:
            worker.window = min(worker.window * 2, _most_ahead(average))
            if shape is not None and shape.size and not worker.recalled and self._may_go_on(worker, shape, done):
                self._send_ahead(worker, shape, now)
        else:
            worker.window = 1
        if not queue:
            self.ahead.pop(worker, None)
            self._dispatcher.end_queue(worker)
            if worker.recalled or worker.blocked:
                worker.recalled, worker.blocked = False, 0
            self._workers.rest(worker, now)

    def _next(self, worker: WorkerRecord, record: TaskRecord, now: float) -> None:
        worker.began_at = now
        if len(worker.queue) == 1:
            self.ahead.pop(worker, None)
        if record.state == SUBMITTED:
            self._tasks.move(record, RUNNING, now)
            record.started_at = now
            hold = record.hold
            if hold is not None:
                hold.belong_to(record, now)

    # --- sending ahead --------------------------------------------------------------------------------------------

    def _may_go_on(self, worker: WorkerRecord, shape: Shape, done: TaskRecord) -> bool:
        """Whether only its own shape waits for the worker's resources: otherwise other shapes would have to wait.

        Devices are leased for one task at a time, so work on them is never sent ahead.
        """
        hold = worker.hold
        if hold is None or done.choice or hold.parts or not hold.place.alive:
            return False
        if self._cluster.exhausted:
            names = {name for name, _ in hold.pooled}
            for place in hold.place.all_who_share():
                if self._cluster.others_wait_for(shape, place, names):
                    return False
        return hold.place.left("CPU") >= 0 and not self._cluster.groups_wait

    def _send_ahead(self, worker: WorkerRecord, shape: Shape, now: float) -> None:
        queue, hold = worker.queue, worker.hold
        assert hold is not None
        free_slots = min(worker.window, 1 + shape.size // (shape.workers or 1)) - len(queue)
        starts, sent = not queue, list[Task]()
        while free_slots > 0:
            record = shape.first()
            if (
                record is None
                or record.pool is not worker.pool
                or record.task.terms.fresh
                or record.task.terms.max_calls
            ):
                break
            if record.actor is not None:
                break
            free_slots -= 1
            self._tasks.leave(shape, record)
            first = not queue
            queue.append(record)
            record.worker, record.hold = worker, hold
            self._tasks.move(record, SUBMITTED, now)
            if first:
                self._next(worker, record, now)
            sent.append(record.task)
        if sent:
            self._out.append(SendTasks(worker.worker_id, sent, worker.node_id, {}, 0, starts))
        if len(queue) > 1:
            self.ahead[worker] = None
            self._watch(now)

    def _watch(self, now: float) -> None:
        if not self._watching:
            self._watching = True
            self._timers.at(now + LONG_S, self._look, None)

    def _look(self, _: object, now: float) -> None:
        """Nothing waits behind a task that turned out to be long."""
        self._watching = False
        for worker in list(self.ahead):
            if now - worker.began_at >= LONG_S * 0.999:
                worker.window = 1
                self.recall(worker)
        if self.ahead:
            self._watch(now)

    def take_out(self, worker: WorkerRecord, record: TaskRecord, now: float) -> None:
        """Take one of several tasks back to its line before it was sent."""
        was_first = worker.queue[0] is record
        worker.queue.remove(record)
        self.requeue([record], now)
        if was_first:
            self._next(worker, worker.queue[0], now)

    def recall(self, worker: WorkerRecord) -> None:
        if len(worker.queue) > 1 and not worker.recalled and worker.state is BUSY:
            worker.recalled = True
            self._out.append(RecallTasks(worker.worker_id))

    def share(self) -> None:
        """A slot is free and nobody waits for it: what lies behind another task elsewhere may run there."""
        busiest = max(self.ahead, key=lambda worker: len(worker.queue), default=None)
        if busiest is None or len(busiest.queue) < 3:
            return
        average = self._averages.get(busiest.queue[0].task.terms.function_key, 0.0)
        if average * len(busiest.queue) > RECALL_WORTH_S:
            self.recall(busiest)

    def given_back(self, worker: WorkerRecord, event: TasksGivenBack, now: float) -> None:
        if worker.state is STOPPING:
            return
        given = set(event.task_ids)
        back = [record for record in worker.queue if record.task.task_id in given]
        worker.recalled = False
        if not back:
            return
        kept = [record for record in worker.queue if record.task.task_id not in given]
        was_first = worker.queue[0] is back[0]
        worker.queue.clear()
        worker.queue.extend(kept)
        self.requeue(back, now)
        if kept:
            if was_first:  # it had been sent and not begun, and those behind it still wait for their arguments
                self._next(worker, kept[0], now)
            elif len(kept) == 1:
                self.ahead.pop(worker, None)
            return
        self.ahead.pop(worker, None)
        self._dispatcher.end_queue(worker)
        worker.blocked = 0
        self._workers.rest(worker, now)

    def requeue(self, records: list[TaskRecord], now: float) -> None:
        """Not begun, so nothing was lost. Those cancelled since are over."""
        for record in records:
            if record.cancelled and not record.over:
                self._tasks.fail(record, Failure.CANCELLED, f"{record.task.name} was cancelled.", now)
        self._tasks.line_up_again([record for record in records if not record.over], now)

    # --- blocking -------------------------------------------------------------------------------------------------

    def blocked(self, worker: WorkerRecord, now: float) -> None:
        worker.blocked += 1
        if worker.blocked > 1 or worker.hold is None or worker.state is STOPPING:
            return
        if worker.actor is not None:
            return  # it keeps its demand for life, as in Ray
        self._cluster.lend_cpu(worker.hold)
        if worker.queue and worker.queue[0].state == RUNNING:
            self._tasks.move(worker.queue[0], IN_GET, now)
        self.recall(worker)

    def unblocked(self, worker: WorkerRecord, now: float) -> None:
        if not worker.blocked:
            if worker.state is STOPPING or worker.actor is None:
                return  # the task that waited has returned already
            raise IllegalEvent("WorkerUnblocked", str(worker), worker.state.name, worker.story, "It was not blocked.")
        worker.blocked -= 1
        if worker.blocked or worker.hold is None or worker.state is STOPPING:
            return
        if worker.hold.lent:
            self._cluster.reclaim_cpu(worker.hold)
        if worker.actor is None and worker.queue and worker.queue[0].state == IN_GET:
            self._tasks.move(worker.queue[0], RUNNING, now)
            worker.began_at = now

    # --- death ----------------------------------------------------------------------------------------------------

    def died(self, worker: WorkerRecord, why: str, now: float) -> None:
        """The process is gone: release its hold, requeue the tasks that it had not begun, and retry the running one."""
        stopped = worker.state is STOPPING
        began = worker.ready
        records = [record for record in worker.queue if not record.over]
        running_first = bool(worker.queue) and not worker.queue[0].over
        worker.queue.clear()
        self.ahead.pop(worker, None)
        self._dispatcher.end_queue(worker)
        self._workers.forget(worker)
        if not records:
            return
        if stopped or not running_first:
            self.requeue(records, now)
        elif began:
            self.requeue(records[1:], now)
            self.crashed(records[0], worker, why, now)
        else:
            self._did_not_start(records[0], worker, why, now)

    def node_lost(self, worker: WorkerRecord, why: str, now: float) -> None:
        """Retry the running task on another node; the others go there at no cost."""
        records = [record for record in worker.queue if not record.over]
        running = records[:1] if worker.ready and worker.queue and not worker.queue[0].over else []
        worker.queue.clear()
        self.ahead.pop(worker, None)
        self.requeue(records[len(running) :], now)
        for record in running:
            task = record.task
            if record.cancelled:
                self._tasks.fail(record, Failure.CANCELLED, f"{task.name} was cancelled.", now)
            elif task.retries_left:
                self.retry([record], now)
            else:
                self._tasks.fail(record, Failure.NODE_DIED, f"{task.name} was lost with its node: {why}.", now)

    def crashed(self, record: TaskRecord, worker: WorkerRecord, why: str, now: float) -> None:
        task = record.task
        if record.cancelled:
            self._tasks.fail(record, Failure.CANCELLED, f"{task.name} was cancelled; its worker {why}.", now)
        elif task.retries_left:
            self.retry([record], now)
        else:
            tries = f" after {record.attempt + 1} attempts" if record.attempt else ""
            message = f"{task.name} ended{tries} because its worker process (pid {worker.pid}) {why}."
            self._tasks.fail(record, Failure.WORKER_CRASHED, message, now)

    def _did_not_start(self, record: TaskRecord, worker: WorkerRecord, why: str, now: float) -> None:
        record.failed_starts += 1
        if record.failed_starts < MAX_FAILED_STARTS:
            self._tasks.line_up_again([record], now)
            return
        message = f"{record.task.name} found no worker: {MAX_FAILED_STARTS} ended while starting, the last {why}."
        self._tasks.fail(record, Failure.WORKER_CRASHED, message, now)


def _most_ahead(average: float) -> int:
    """So many tasks of this average are held by one worker at most."""
    if average * MAX_SHORT_WINDOW <= AHEAD_S:
        return MAX_SHORT_WINDOW
    return max(MAX_WINDOW, int(AHEAD_S / average))
