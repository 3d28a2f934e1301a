"""Actors: their constructors, the order of their calls, restarts, and their end."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from operator import attrgetter

import msgspec

from nbaccel.scheduling.commands import ActorChanged, Command, Failure, FinishTasks, ReleaseDevices, SendTasks, Warn
from nbaccel.scheduling.dispatch import Dispatcher
from nbaccel.scheduling.events import TaskReturn
from nbaccel.scheduling.ledger import Hold
from nbaccel.scheduling.moves import (
    ACTOR_MOVES,
    ARGS,
    IN_GET,
    RUNNING,
    STARTING,
    STOPPING,
    SUBMITTED,
    WAITING,
    ActorStatus,
    IllegalEvent,
    Story,
    lengthened,
)
from nbaccel.scheduling.placement import PlacementBook
from nbaccel.scheduling.tasks import TaskRecord, TaskTable
from nbaccel.scheduling.terms import UNLIMITED, ActorTerms, Task
from nbaccel.scheduling.timers import Timers
from nbaccel.scheduling.workers import WorkerRecord, WorkerTable

PENDING, ALIVE, RESTARTING, DEAD = ActorStatus
MAX_FAILED_STARTS = 3
BRIEF_S = 5.0  # an actor that ends by itself so soon after its start will probably do so again
BRIEF_LIVES = 5  # in a row, before it pauses between its restarts
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 10.0  # twice as long each time
KEEP_DEAD = 10_000  # dead actors whose calls can still be answered with why they died
Line = deque[TaskRecord]


class ActorRecord(msgspec.Struct, eq=False):
    """The scheduler's record of one actor."""

    actor_id: bytes
    creation: TaskRecord
    since: float
    state: ActorStatus = PENDING
    worker: WorkerRecord | None = None
    hold: Hold | None = None
    lines: dict[bytes, Line] = {}  # caller -> calls that have not been sent, in order
    sent: dict[bytes, TaskRecord] = {}  # not returned yet, in order
    behind: Line = msgspec.field(default_factory=deque)  # those of `sent` that wait for others in the worker
    waiting: int = 0
    busy: int = 0  # calls that the worker runs at once
    restarts: int = 0
    brief_lives: int = 0  # in a row: it ended by itself soon after its start
    pauses: bool = False  # its next restart waits for a time
    created: bool = False  # the constructor has returned at least once
    settled: bool = False  # FinishTasks or FailTask of the constructor has been said
    closing: str | None = None  # ends, for this reason, when its last call has returned
    why: str = ""
    story: Story = ()

    @property
    def task(self) -> Task:
        return self.creation.task

    @property
    def terms(self) -> ActorTerms:
        return self.creation.task.terms.actor

    @property
    def name(self) -> str:
        """The name of its class, for sentences."""
        return self.task.name.removesuffix(".__init__")

    @property
    def may_restart(self) -> bool:
        return self.terms.max_restarts == UNLIMITED or self.restarts < self.terms.max_restarts

    def __str__(self) -> str:
        return f"actor {self.name} ({self.actor_id.hex()})"

    def calls(self) -> Iterator[TaskRecord]:
        """All calls that have not returned."""
        yield from self.sent.values()
        for line in self.lines.values():
            yield from (record for record in line if not record.over)


class ActorTable:
    """Owns actor records; every move of an actor goes through `_move`."""

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
        self.records: dict[bytes, ActorRecord] = {}
        self._dead: deque[bytes] = deque()

    def _move(self, actor: ActorRecord, state: ActorStatus, now: float, why: str = "") -> None:
        if state not in ACTOR_MOVES[actor.state]:
            raise IllegalEvent(f"A move to {state.name}", str(actor), actor.state.name, actor.story)
        actor.state, actor.why, actor.since = state, why, now
        actor.story = lengthened(actor.story, state, now)
        self._out.append(ActorChanged(actor.actor_id, state.name, why))

    # --- creation -------------------------------------------------------------------------------------------------

    def check_new(self, task: Task) -> None:
        actor = self.records.get(task.actor_id or b"")
        if actor is not None:
            raise IllegalEvent("TasksSubmitted", str(actor), actor.state.name, actor.story, "Its id is in use.")

    def create(self, record: TaskRecord, now: float) -> None:
        """A constructor was submitted. Its record is a task; the state of the actor follows it."""
        assert record.task.actor_id is not None
        actor = ActorRecord(record.task.actor_id, record, now)
        record.actor = self.records[actor.actor_id] = actor
        record.of_detached |= record.task.terms.actor.detached
        self._out.append(ActorChanged(actor.actor_id, PENDING.name))

    def created(self, worker: WorkerRecord, event: TaskReturn, now: float) -> None:
        """The constructor returned, or raised."""
        actor, record = worker.actor, worker.queue.popleft()
        assert actor is not None
        worker.used = True
        if event.fall_back:
            self._construct_otherwise(actor, worker, event.fall_back, now)
            return
        last = event.failed or not actor.terms.max_restarts
        actor.settled |= last
        self._tasks.finish(record, now, event.failed, event.cancelled, notify=last)
        if event.failed:
            self.kill(actor, f"the constructor of {actor.name} raised an error", now, force=False)
            return
        actor.created = True
        self._dispatcher.close_queue(worker)
        if actor.terms.lasting is not None and actor.hold is not None and not record.choice:
            self._cluster.shrink(actor.hold, actor.terms.lasting)
        self._move(actor, ALIVE, now)
        for caller in list(actor.lines):
            self._send_ready(actor, caller, now)
        self._close_if_done(actor, now)

    def _construct_otherwise(self, actor: ActorRecord, worker: WorkerRecord, why: str, now: float) -> None:
        """The constructor raised an error that triggers its next choice: start a new process for that choice."""
        actor.worker, actor.hold = None, None
        self._dispatcher.retire(worker, f"the constructor of {actor.name} raised {why}", now)
        self._tasks.fall_back(actor.creation, why, now)

    # --- calls ----------------------------------------------------------------------------------------------------

    def call(self, record: TaskRecord, now: float) -> None:
        """A method call was submitted."""
        task = record.task
        actor = self.records.get(task.actor_id or b"")
        if actor is None or actor.state is DEAD:
            self._refuse(record, actor, now)
            return
        record.actor = actor
        if task.terms.max_retries is None:
            task.retries_left = actor.terms.max_task_retries
        if task.is_direct:
            self._tasks.move(record, WAITING, now)
            self._send(actor, record, now)
            return
        pending = actor.waiting + len(actor.sent)
        most = actor.terms.max_pending_calls
        if most is not None and pending >= most:
            message = f"{task.name} was not accepted: {pending} calls are pending and max_pending_calls is {most}."
            self._tasks.fail(record, Failure.PENDING_CALLS_EXCEEDED, message, now)
            return
        caller = self._caller(actor, record)
        waits = self._tasks.awaited.wait(record)
        if not waits:
            self._tasks.move(record, WAITING, now)
            if _is_out_of_reach(actor, record):
                self._fail_out_of_reach(actor, record, now)
                return
            if actor.state is ALIVE and caller not in actor.lines:
                self._send(actor, record, now)
                return
        actor.lines.setdefault(caller, deque()).append(record)
        actor.waiting += 1

    def _refuse(self, record: TaskRecord, actor: ActorRecord | None, now: float) -> None:
        if actor is None:
            why = "no actor with this id is known any more"
        else:
            record.actor, why = actor, actor.why
        message = f"{record.task.name} cannot run: the actor is dead, because {why.rstrip('.')}."
        self._tasks.fail(record, Failure.ACTOR_DIED, message, now)

    def _caller(self, actor: ActorRecord, record: TaskRecord) -> bytes:
        """The line of a call. Calls in one line keep their order; unordered calls have a line each."""
        return record.task.task_id if actor.terms.out_of_order else record.task.caller

    def arguments_arrived(self, record: TaskRecord, now: float) -> None:
        self._tasks.move(record, WAITING, now)
        actor = record.actor
        if actor is None:
            return
        if actor.state is ALIVE:
            self._send_ready(actor, self._caller(actor, record), now)
        elif _is_out_of_reach(actor, record):
            self._fail_out_of_reach(actor, record, now)
            self.left(actor, record, now)

    def _fail_out_of_reach(self, actor: ActorRecord, record: TaskRecord, now: float) -> None:
        why = f", because {actor.why.rstrip('.')}" if actor.why else ""
        message = (
            f"{record.task.name} was not run: the actor is restarting{why}. A call waits for that where it has "
            "retries: max_task_retries."
        )
        self._tasks.fail(record, Failure.ACTOR_UNAVAILABLE, message, now)

    def _fail_all_out_of_reach(self, actor: ActorRecord, now: float) -> None:
        """As in Ray, a call without retries does not wait until its actor has restarted."""
        waiting = [record for line in actor.lines.values() for record in line if _is_out_of_reach(actor, record)]
        for record in waiting:
            self._fail_out_of_reach(actor, record, now)
            self.left(actor, record, now)

    def _send_ready(self, actor: ActorRecord, caller: bytes, now: float) -> None:
        line = actor.lines.get(caller)
        if line is None:
            return
        while line and line[0].state == WAITING:
            actor.waiting -= 1
            self._send(actor, line.popleft(), now)
        if not line:
            del actor.lines[caller]

    def _send(self, actor: ActorRecord, record: TaskRecord, now: float) -> None:
        worker = actor.worker
        assert worker is not None
        first = actor.busy < actor.terms.max_concurrency
        self._tasks.move(record, SUBMITTED, now)
        actor.sent[record.task.task_id] = record
        record.worker = worker
        if first:
            self._run(actor, record, now)
        else:
            actor.behind.append(record)
        if not record.task.is_direct:
            self._out.append(SendTasks(worker.worker_id, [record.task], worker.node_id, {}, 0, first))

    def _run(self, actor: ActorRecord, record: TaskRecord, now: float) -> None:
        self._tasks.move(record, RUNNING, now)
        record.started_at = now
        actor.busy += 1

    def returned(self, worker: WorkerRecord, event: TaskReturn, now: float) -> None:
        actor = worker.actor
        assert actor is not None
        record = actor.sent.get(event.task_id)
        if record is None:
            if worker.state is STOPPING or event.task_id in self._tasks.records:
                return
            raise IllegalEvent("TasksReturned", str(actor), actor.state.name, actor.story, "It was not sent this call.")
        del actor.sent[event.task_id]
        if record.state == SUBMITTED:  # the worker chose another order
            actor.behind.remove(record)
            self._run(actor, record, now)
        actor.busy -= 1
        self._conclude(actor, record, event, now)
        while actor.behind and actor.busy < actor.terms.max_concurrency:
            self._run(actor, actor.behind.popleft(), now)
        self._close_if_done(actor, now)

    def _conclude(self, actor: ActorRecord, record: TaskRecord, event: TaskReturn, now: float) -> None:
        if not event.retry:
            self._tasks.finish(record, now, event.failed, event.cancelled)
        elif record.cancelled:
            self._tasks.fail(record, Failure.CANCELLED, f"{record.task.name} was cancelled.", now)
        else:
            self._take_back(record, now)
            if actor.state is ALIVE:
                self._send(actor, record, now)
            else:
                self._put_back(actor, record)

    def _take_back(self, record: TaskRecord, now: float) -> None:
        """Put a call back, to be sent once more."""
        if record.task.retries_left > 0:
            record.task.retries_left -= 1
        record.attempt += 1
        self._tasks.move(record, WAITING, now)
        record.worker, record.started_at = None, None

    def _put_back(self, actor: ActorRecord, record: TaskRecord) -> None:
        line = actor.lines.setdefault(self._caller(actor, record), deque())
        line.insert(bisect_left(line, record.seq, key=attrgetter("seq")), record)  # before those that came later
        actor.waiting += 1

    def cancel_waiting(self, record: TaskRecord, failure: Failure, message: str, now: float) -> None:
        """Cancel a call that has not been sent; the calls behind it move up."""
        actor = record.actor
        self._tasks.fail(record, failure, message, now)
        self.left(actor, record, now)

    def left(self, actor: ActorRecord | None, record: TaskRecord, now: float) -> None:
        """A waiting call has ended, for any reason."""
        if actor is None:
            return
        caller = self._caller(actor, record)
        line = actor.lines.get(caller)
        if line is None or record not in line:
            return
        line.remove(record)
        actor.waiting -= 1
        if not line:
            del actor.lines[caller]
        elif actor.state is ALIVE:
            self._send_ready(actor, caller, now)
        self._close_if_done(actor, now)

    # --- the end --------------------------------------------------------------------------------------------------

    def worker_died(self, worker: WorkerRecord, why: str, intended: bool, now: float) -> None:
        """The process has ended. Its hold is released, or goes to the next process of the same actor."""
        actor = worker.actor
        assert actor is not None
        mine = actor.worker is worker and actor.state is not DEAD
        stopped = worker.state is STOPPING
        if mine and not worker.ready and not stopped and actor.creation.failed_starts + 1 < MAX_FAILED_STARTS:
            self._start_again(actor, worker, now)
            return
        again = mine and actor.may_restart and actor.closing is None and (stopped or not intended)
        if again:
            actor.brief_lives = 0 if stopped else _brief_lives(actor, now)
        keep = actor.hold if again and actor.brief_lives <= BRIEF_LIVES else None  # one that pauses holds nothing
        self._give_back(worker, keep)
        self._workers.forget(worker)
        if not mine:
            return
        actor.worker, actor.hold = None, None
        reason = worker.why or f"its process {_pid(worker)}{why}"
        if again:
            self._restart(actor, keep, reason, now)
        else:
            self.end(actor, actor.closing or reason, now)

    def worker_lost(self, worker: WorkerRecord, why: str, now: float) -> None:
        """The node is gone: restart the actor on another node, without waiting for the process to be reaped."""
        actor = worker.actor
        if actor is None or actor.worker is not worker or actor.state is DEAD:
            return
        if actor.creation.state == SUBMITTED:  # its process had not come up
            self.unbind(worker)
            self._tasks.line_up_again([actor.creation], now)
            return
        actor.worker, actor.hold = None, None
        if actor.may_restart and actor.closing is None:
            self._restart(actor, None, why, now)
        else:
            self.end(actor, why, now)

    def _start_again(self, actor: ActorRecord, worker: WorkerRecord, now: float) -> None:
        """Start again: the process ended before it was ready, which is not the actor's fault."""
        actor.creation.failed_starts += 1
        self.unbind(worker)
        self._workers.forget(worker)
        self._tasks.line_up_again([actor.creation], now)

    def _give_back(self, worker: WorkerRecord, keep: Hold | None) -> None:
        worker.blocked = 0
        if keep is None or not keep.place.alive:
            self._dispatcher.end_queue(worker)
            return
        self._dispatcher.close_queue(worker)
        worker.hold = None
        if keep.lent:
            self._cluster.reclaim_cpu(keep)
        if keep.parts and worker.leased:
            self._out.append(ReleaseDevices(worker.worker_id, keep.place.node_id, keep.devices))

    def _restart(self, actor: ActorRecord, keep: Hold | None, why: str, now: float) -> None:
        """Run the constructor again, on the same devices if they still exist."""
        actor.restarts += 1
        if actor.state is not RESTARTING or not actor.creation.over:  # else it was reported when we stopped the process
            self._move(actor, RESTARTING, now, why)
        self._unsend(actor, why, now)
        old = actor.creation
        if not old.over:
            self._tasks.drop(old, now)
        record = actor.creation = self._tasks.again(old, now)
        if actor.brief_lives > BRIEF_LIVES:
            self._pause(actor, record, why, now)
            return
        if keep is None or not keep.place.alive:
            self._tasks.line_up(record, now)
            return
        self._tasks.move(record, WAITING, now)
        self._dispatcher.assign(record, keep, now)

    def _pause(self, actor: ActorRecord, record: TaskRecord, why: str, now: float) -> None:
        """Wait before the next restart, longer each time: what ends the actor is probably there still."""
        number = actor.brief_lives - BRIEF_LIVES
        actor.pauses = True
        pause_s = min(FIRST_PAUSE_S * 2 ** min(number - 1, 10), LONGEST_PAUSE_S)
        self._timers.at(now + pause_s, self._pause_over, record)
        if number == 1:
            message = (
                f"{actor.name} has restarted {actor.restarts} times, and the last {BRIEF_LIVES + 1} times it ended "
                f"within {BRIEF_S:g} s of its start, the last time because {why.rstrip('.')}. It goes on to restart, "
                f"with pauses of up to {LONGEST_PAUSE_S:g} s. Look at what it printed, give a smaller max_restarts, or "
                "end it with nbaccel.kill()."
            )
            self._out.append(Warn(record.task.terms.job, "restarts", record.task.task_id, message))

    def _pause_over(self, record: TaskRecord, now: float) -> None:
        actor = record.actor
        if actor is not None and actor.creation is record and actor.pauses and record.state is ARGS:
            actor.pauses = False
            self._tasks.line_up(record, now)

    def _unsend(self, actor: ActorRecord, why: str, now: float) -> None:
        """Unfinished calls: those with retries left go back to their lines, the others fail."""
        again: list[TaskRecord] = []
        for record in actor.sent.values():
            if record.cancelled:
                self._tasks.fail(record, Failure.CANCELLED, f"{record.task.name} was cancelled.", now)
            elif record.task.retries_left:
                again.append(record)
            else:
                where = "under way" if record.state == RUNNING else "about to run"
                message = f"{record.task.name} was {where} when the actor restarted, because {why}."
                self._tasks.fail(record, Failure.ACTOR_UNAVAILABLE, message, now)
        actor.sent.clear()
        actor.behind.clear()
        actor.busy = 0
        for record in again:
            if record.state == SUBMITTED:
                self._tasks.move(record, WAITING, now)
                record.worker = None
            else:
                self._take_back(record, now)
            self._put_back(actor, record)
        self._fail_all_out_of_reach(actor, now)

    def end(self, actor: ActorRecord, why: str, now: float, failure: Failure = Failure.ACTOR_DIED) -> None:
        """The actor is dead from now on: its calls fail, and its process ends, which frees its devices."""
        if actor.state is DEAD:
            return
        self._move(actor, DEAD, now, why)
        actor.pauses = False
        message = f"The actor {actor.name} is dead, because {why.rstrip('.')}."
        for record in list(actor.calls()):
            cancelled = record.cancelled
            self._tasks.fail(record, Failure.CANCELLED if cancelled else failure, message, now)
        actor.sent.clear()
        actor.lines.clear()
        actor.behind.clear()
        actor.waiting = actor.busy = 0
        self._end_creation(actor, failure, message, now)
        self._bury(actor)

    def _end_creation(self, actor: ActorRecord, failure: Failure, message: str, now: float) -> None:
        record, notified = actor.creation, actor.settled
        actor.settled = True
        if not record.over:
            if actor.created:  # its result was written the first time
                self._tasks.drop(record, now)
            else:
                notified = True
                self._tasks.fail(record, failure, message, now)
        if not notified:
            self._out.append(FinishTasks([actor.task]))

    def _bury(self, actor: ActorRecord) -> None:
        self._dead.append(actor.actor_id)
        if len(self._dead) > KEEP_DEAD:
            self.records.pop(self._dead.popleft(), None)

    def kill(
        self, actor: ActorRecord, why: str, now: float, *, force: bool = True, failure: Failure = Failure.ACTOR_DIED
    ) -> None:
        """End the actor for good, with its process."""
        worker = actor.worker
        if worker is not None and worker.state is STARTING:
            self.unbind(worker)
            worker = None
        self.end(actor, why, now, failure)
        if worker is not None:
            self._workers.stop(worker, why, now, force)

    def unbind(self, worker: WorkerRecord) -> None:
        """Release a process that is not ready yet from this actor."""
        actor = worker.actor
        if actor is not None:
            actor.worker, actor.hold = None, None
        worker.queue.clear()
        worker.actor = None
        self._dispatcher.end_queue(worker)

    def kill_requested(self, actor: ActorRecord, why: str, no_restart: bool, graceful: bool, now: float) -> None:
        if actor.state is DEAD:
            return
        if graceful:
            actor.closing = why
            self._close_if_done(actor, now)
        elif no_restart or not actor.may_restart:
            self.kill(actor, why, now)
        elif actor.worker is not None and actor.worker.state not in (STARTING, STOPPING):
            self._workers.stop(actor.worker, why, now, True)
            if actor.state is ALIVE:
                self._move(actor, RESTARTING, now, why)
                self._fail_all_out_of_reach(actor, now)

    def _close_if_done(self, actor: ActorRecord, now: float) -> None:
        if actor.closing is not None and not actor.sent and not actor.waiting and actor.state is not DEAD:
            running = actor.creation.state in (RUNNING, IN_GET)
            if not running:
                self.kill(actor, actor.closing, now, force=False)


def _brief_lives(actor: ActorRecord, now: float) -> int:
    """How many lives in a row have been brief, with the one that ends now."""
    began = actor.since if actor.state is ALIVE else actor.creation.started_at
    return actor.brief_lives + 1 if began is None or now - began < BRIEF_S else 0


def _is_out_of_reach(actor: ActorRecord, record: TaskRecord) -> bool:
    """Before the actor has been there for the first time, everybody waits for it, as in Ray."""
    has_retries = record.task.retries_left or record.attempt  # its last one may be the one that it waits for
    return actor.state is RESTARTING and actor.created and record.state == WAITING and not has_retries


def _pid(worker: WorkerRecord) -> str:
    return f"(pid {worker.pid}) " if worker.pid else ""
