"""Where work happens: carries out what the scheduler orders, in this thread, one thing after the other."""

from __future__ import annotations

import inspect
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nbaccel import exceptions
from nbaccel.debug_engine.execution import DebugExecution, set_up
from nbaccel.debug_engine.machine import DebugMachine
from nbaccel.debug_engine.workers import DebugWorker, Entry, PausedStream
from nbaccel.local_engine import wire
from nbaccel.local_engine.head import outcomes
from nbaccel.local_engine.head.orphaned_work import OWNER_DIED
from nbaccel.local_engine.head.records import CANCELLED
from nbaccel.local_engine.wire import codec, failures
from nbaccel.local_engine.wire.ids import return_id, task_of
from nbaccel.local_engine.worker.actor_host import is_unfinished
from nbaccel.local_engine.worker.execution import ActorExit, Running, current_run
from nbaccel.scheduling import commands as do
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import Task, TaskKind

if TYPE_CHECKING:
    from nbaccel.debug_engine.engine import DebugEngine

NEVER_S = 1e9


class ProcessEnd(Exception):
    """User code ends the process that it runs in."""


class Stage:
    """The scheduler, its workers, and what runs in them."""

    def __init__(self, engine: DebugEngine, machine: DebugMachine) -> None:
        self._engine = engine
        self._machine = machine
        self.scheduler = Scheduler(
            new_id=lambda: os.urandom(28), spares=0, idle_worker_stop_s=NEVER_S, waiting_notice_s=NEVER_S
        )
        self.execution = DebugExecution(engine)
        self.workers: dict[bytes, DebugWorker] = {}
        self.streams: dict[bytes, PausedStream] = {}
        self._commands: deque[Any] = deque()
        self._wake_at: float | None = None
        self._acts: dict[type, Callable[[Any], None]] = {
            do.SendTask: self._send,
            do.FinishTask: self._finish,
            do.FailTask: self._fail,
            do.StartWorker: self._start,
            do.StopWorker: self._stop,
            do.RecallTasks: self._recall,
            do.InterruptTask: self._interrupt,
            do.ReleaseDevices: lambda command: None,
            do.ActorChanged: lambda command: engine.actors.changed(command),
            do.GroupChanged: lambda command: engine.groups.changed(command),
            do.Warn: _say,
            do.WakeAt: self._wake,
        }

    def begin(self) -> None:
        """The node joins."""
        self.tell(ev.NodeAdded(self._machine.spec))

    # ---- the scheduler's orders

    def tell(self, event: Any) -> None:
        """Say what happened, and do all that follows from it."""
        self._commands.extend(self.scheduler.handle(event, time.monotonic()))
        while self._commands:
            command = self._commands.popleft()
            self._acts[type(command)](command)

    def _wake(self, command: do.WakeAt) -> None:
        if command.at - time.monotonic() > NEVER_S / 2:
            return
        self._wake_at = command.at if self._wake_at is None else min(self._wake_at, command.at)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """The code that is on the stack waits for others: its CPU is theirs."""
        running = current_run.get()
        entry = self.scheduler.task_record(running.task_id) if running is not None else None
        worker = self.workers.get(entry.task.payload.worker_id) if entry is not None else None
        if worker is None or worker.ended:
            yield
            return
        self.tell(ev.WorkerBlocked(worker.worker_id))
        try:
            yield
        finally:
            if not worker.ended:
                self.tell(ev.WorkerUnblocked(worker.worker_id))

    def advance(self, until: float) -> bool:
        """Let pass what only needs time: loops of actors, the scheduler's timers. False when nothing moves any more."""
        before = self.scheduler.counts()
        for worker in list(self.workers.values()):
            if worker.loop is not None and not worker.ended:
                worker.loop.run()
        if self.scheduler.counts() != before:
            return True
        if self._wake_at is None or self._wake_at > until:
            return False
        wait_s, self._wake_at = self._wake_at - time.monotonic(), None
        time.sleep(max(wait_s, 0))
        self.tell(ev.TimePassed())
        return True

    def _start(self, command: do.StartWorker) -> None:
        self.workers[command.worker_id] = DebugWorker(command.worker_id, command.node_id)
        self.tell(ev.WorkerReady(command.worker_id, os.getpid()))

    def _stop(self, command: do.StopWorker) -> None:
        worker = self.workers.pop(command.worker_id, None)
        if worker is not None:
            if not command.force:
                worker.say_goodbye()
            self._end(worker)
            self.tell(ev.WorkerDied(command.worker_id, command.why, intended=True))

    def worker_of(self, task_id: bytes) -> bytes | None:
        """What stands for the process that this task runs in; None for the driver's."""
        record = self.scheduler.task_record(task_id) if task_id else None
        return record.worker.worker_id if record is not None and record.worker is not None else None

    def _end(self, worker: DebugWorker) -> None:
        """Its own end, and that of the actors that it created where it was an actor itself."""
        worker.end()
        if worker.creation is None:
            return
        self._engine.groups.owner_died(worker.worker_id)
        for actor in list(self.scheduler.living_actors_of(worker.worker_id)):
            if not actor.terms.detached:
                self.tell(ev.ActorKillAsked(actor.actor_id, why=OWNER_DIED))

    def _recall(self, command: do.RecallTasks) -> None:
        worker = self.workers[command.worker_id]
        given = [running.task_id for running in worker.waiting]
        worker.waiting.clear()
        self.tell(ev.TasksGivenBack(command.worker_id, given))

    def _interrupt(self, command: do.InterruptTask) -> None:
        """A sync call sees a flag, a coroutine is cancelled, a stream ends, what has not begun never does."""
        worker = self.workers.get(command.worker_id)
        if worker is None:
            return
        stream = self.streams.get(command.task_id)
        running = worker.under_way.get(command.task_id) or next(
            (each for each in worker.waiting if each.task_id == command.task_id), None
        )
        if stream is not None:
            running = stream.running
        if running is None:
            return
        running.cancelled = True
        if stream is not None:
            self._end_stream(stream, self.execution.failure(running, KeyboardInterrupt()))
        elif running.asyncio_task is not None and worker.loop is not None:
            running.asyncio_task.cancel()
            worker.loop.run()
        elif running in worker.waiting:
            worker.waiting.remove(running)
            self._done(worker, running, self.execution.failure(running, KeyboardInterrupt()))

    # ---- running

    def _send(self, command: do.SendTask) -> None:
        worker, task = self.workers[command.worker_id], command.task
        entry: Entry = task.payload
        environment = entry.environment
        if task.kind is TaskKind.ACTOR_CALL:  # in the surroundings that its actor was made in
            made = worker.creation
            ids, environ = None, made.run.environ if made is not None else None
            environment = (made.environment if made is not None else None) or environment
        else:
            ids = self._machine.ids(command.devices) or None
            environ = self._machine.environment(command.devices, entry.terms.hide_unassigned)
        told = self._machine.told_ids(command.devices, ids, environment) if environ is not None else ids
        entry.worker_id, entry.node_id, entry.device_ids = worker.worker_id, command.node_id, ids
        record = self.scheduler.task_record(task.task_id)
        entry.choice, entry.choice_why = command.choice, record.choice_why if record is not None else ""
        if task.kind is TaskKind.ACTOR_CREATION:
            actor = self._engine.actors.entries[task.actor_id or b""]
            actor.worker_id, actor.node_id, actor.device_ids = worker.worker_id, command.node_id, told
        run = wire.RunTask(
            task.task_id, 0, entry.submit.args, [], told, environ, record.attempt if record else 0, command.choice,
            task.actor_id or b"",
        )  # fmt: skip
        running = Running(run, entry.terms, environment=environment)
        running.payloads = [(place, self._payload(id)) for place, id in entry.submit.slots]
        worker.waiting.append(running)
        self._go_on(worker)

    def _payload(self, id: bytes) -> tuple[int, Any]:
        value = self._engine.values.value(id) or failures.failed("ObjectLostError", f"Object {id.hex()} is gone.")
        return value.status, value.data

    def _go_on(self, worker: DebugWorker) -> None:
        """Begin what was sent, unless this worker's code is on the stack: then it comes after."""
        while worker.waiting and not worker.busy and not worker.ended:
            running = worker.waiting.popleft()
            record = self.scheduler.task_record(running.task_id)
            if record is None or record.over:
                continue  # cancelled since it was sent
            record.task.payload.started_at, record.task.payload.times = time.time(), []
            if running.terms.kind is TaskKind.ACTOR_CALL and worker.loop is not None:
                self._call_async(worker, running)
            else:
                self._run(worker, running)

    def _run(self, worker: DebugWorker, running: Running) -> None:
        worker.busy = running.terms.actor.max_concurrency == 1 and not self._is_threaded(worker)
        worker.under_way[running.task_id] = running
        try:
            done = self._guarded(running, lambda: self._work(worker, running))
        except ProcessEnd as end:
            self._die(worker, str(end))
            return
        finally:
            worker.busy = False
        if done is not None:
            worker.under_way.pop(running.task_id, None)
            self._done(worker, running, done)
        self._go_on(worker)

    def _is_threaded(self, worker: DebugWorker) -> bool:
        creation = worker.creation
        return creation is not None and (
            creation.terms.actor.max_concurrency > 1 or bool(creation.terms.actor.concurrency_groups)
        )

    def _guarded(self, running: Running, work: Callable[[], wire.Done | None]) -> wire.Done | None:
        """Do the work; whatever the user's code raises becomes a Done."""
        token = current_run.set(running)
        try:
            with self.execution.surroundings(running):
                return work()
        except ActorExit:
            return _exit_of(running)
        except SystemExit as exit:
            raise ProcessEnd(f"called sys.exit({exit.code!r})") from None
        except KeyboardInterrupt as error:
            if running.cancelled:
                return self.execution.failure(running, error)
            raise  # the user's own: this is the main thread
        except BaseException as error:  # the user's function may raise anything; it belongs to the caller
            return self.execution.failure(running, error)
        finally:
            current_run.reset(token)

    def _die(self, worker: DebugWorker, how: str) -> None:
        """Its code ended its process, or would have, had it one of its own."""
        self.workers.pop(worker.worker_id, None)
        self._end(worker)
        self.tell(ev.WorkerDied(worker.worker_id, how))

    def _work(self, worker: DebugWorker, running: Running) -> wire.Done | None:
        terms = running.terms
        why_not = set_up(running.environment or {})
        if why_not:
            value = failures.failed("RuntimeEnvSetupError", why_not)
            return wire.Done(running.task_id, [wire.ReturnValue(value)] * max(terms.num_returns, 1), failed=True)
        args, kwargs = self.execution.arguments(running)
        if terms.kind is TaskKind.ACTOR_CREATION:
            return self._construct(worker, running, args, kwargs)
        code = (
            worker.method(terms.method)
            if terms.kind is TaskKind.ACTOR_CALL
            else self.execution.code(terms, running.run.choice)
        )
        value = code(*args, **kwargs)
        if terms.num_returns == wire.STREAMING:
            self._open_stream(worker, running, value)
            return None
        return self.execution.results(running, value)

    def _construct(self, worker: DebugWorker, running: Running, args: list[Any], kwargs: dict[str, Any]) -> wire.Done:
        worker.creation = running
        cls = self.execution.code(running.terms, running.run.choice)
        worker.house(cls, args, kwargs)
        return wire.Done(running.task_id, [wire.ReturnValue(wire.Value(wire.OK, codec.NONE))])

    # ---- calls of asyncio actors

    def _call_async(self, worker: DebugWorker, running: Running) -> None:
        assert worker.loop is not None
        worker.under_way[running.task_id] = running
        running.asyncio_task = worker.loop.loop.create_task(self._coroutine(worker, running))
        worker.loop.run()

    async def _coroutine(self, worker: DebugWorker, running: Running) -> None:
        token = current_run.set(running)
        done: wire.Done | None
        try:
            done = await self._awaited(worker, running)
        except ActorExit:
            done = _exit_of(running)
        except BaseException as error:  # the user's coroutine may raise anything; it belongs to the caller
            done = self.execution.failure(running, error)
        finally:
            current_run.reset(token)
        if done is not None:
            worker.under_way.pop(running.task_id, None)
            assert worker.loop is not None
            worker.loop.loop.call_soon(lambda: self._done(worker, running, done))

    async def _awaited(self, worker: DebugWorker, running: Running) -> wire.Done | None:
        args, kwargs = self.execution.arguments(running)
        value = worker.method(running.terms.method)(*args, **kwargs)
        if is_unfinished(value):
            value = await value
        if running.terms.num_returns == wire.STREAMING:
            self._open_stream(worker, running, value)
            return None
        return self.execution.results(running, value)

    # ---- streams

    def _open_stream(self, worker: DebugWorker, running: Running, items: Any) -> None:
        """It goes on when its reader wants an item; until then it does not hold a CPU."""
        if not inspect.isasyncgen(items):
            items = iter(items)
        self.streams[running.task_id] = PausedStream(running, worker, items)
        self.tell(ev.WorkerBlocked(worker.worker_id))

    def step(self, stream: PausedStream) -> bytes | None:
        """Run a stream to its next item: the item's id, None at the end or where the reader has the item already."""
        running = stream.running
        item: list[Any] = []

        def work() -> wire.Done | None:
            try:
                item.append(self.execution.item(running, stream.index, stream.next()))
                return None
            except StopIteration:
                return wire.Done(running.task_id, [wire.ReturnValue(wire.Value(wire.OK, codec.NONE))])

        try:
            done = self._guarded(running, work)
        except ProcessEnd as end:
            self.streams.pop(running.task_id, None)
            self._die(stream.worker, str(end))
            return None
        if done is not None:
            self._end_stream(stream, done)
            return None
        stream.index += 1
        running.streamed = True
        if stream.index <= self._engine.streams.made(running.task_id):
            return None  # an attempt before this one has made it
        id = return_id(running.task_id, stream.index)
        self._engine.values.hold(id)
        self._engine.values.keep(item[0].result.refs)
        self._engine.values.fill(id, item[0].result.value)
        return id

    def _end_stream(self, stream: PausedStream, done: wire.Done) -> None:
        if stream.ended:
            return
        stream.ended = True
        stream.close()
        del self.streams[stream.running.task_id]
        stream.worker.under_way.pop(stream.running.task_id, None)
        if not stream.worker.ended:
            self.tell(ev.WorkerUnblocked(stream.worker.worker_id))
            self._done(stream.worker, stream.running, done)

    def abandon(self, stream: PausedStream) -> None:
        """Its reader has gone."""
        self._end_stream(stream, wire.Done(stream.running.task_id, [wire.ReturnValue(wire.Value(wire.OK, codec.NONE))]))

    # ---- ends

    def _done(self, worker: DebugWorker, running: Running, done: wire.Done) -> None:
        if running.leaves:  # perhaps the call went on all the same
            done = _exit_of(running)
        record = self.scheduler.task_record(done.task_id)
        running.ended(done)
        if record is not None and not record.over and not done.fall_back:
            outcomes.note_done(record.task.payload, done, time.time())
            if done.failed and running.terms.kind is TaskKind.ACTOR_CREATION:
                outcomes.note_failed_creation(self._engine.actors.entries[running.run.actor_id], done.results[0].value)
        if worker.ended:
            return
        if done.exiting:
            assert worker.creation is not None
            actor_id = worker.creation.run.actor_id
            worker.say_goodbye()
            self.tell(ev.ActorKillAsked(actor_id, True, why="it ended itself: exit_actor() was called"))
        if not worker.ended:
            retry = done.retry and record is not None and record.task.retries_left != 0
            fall_back = done.note if done.fall_back else ""
            cancelled = done.failed and done.note == "cancelled"
            event = ev.TaskReturned(worker.worker_id, done.task_id, done.failed, retry, fall_back, cancelled=cancelled)
            self.tell(event)

    def _finish(self, command: do.FinishTask) -> None:
        entry: Entry = command.task.payload
        if entry.results is not None:
            self._write(command.task, entry.results)

    def _write(self, task: Task, results: list[wire.ReturnValue]) -> None:
        values, raised = self._engine.values, self.execution.raised.pop(task.task_id, None)
        last = outcomes.last_item(task, 0, results) if task.terms.num_returns == wire.STREAMING else None
        if last is not None:
            self._engine.streams.failed(task.task_id, last[1], raised)
        ready = []
        for id, result in outcomes.objects_of(task, results):
            values.keep(result.refs)
            values.fill(id, result.value, raised)
            if result.value.status == wire.OK:
                ready.append(id)
            else:
                self._fail_waiting(id, result.value)
        if ready:
            self.tell(ev.ObjectsReady(ready))

    def _fail_waiting(self, id: bytes, value: wire.Value) -> None:
        """An argument failed: so do the tasks that wait for it, with the same error."""
        for task in self.scheduler.waiting_for(id):
            self.fail_for_argument(task, id, value)
            self.tell(ev.ArgumentFailed(task.task_id, task.payload.error_type == CANCELLED))

    def fail_for_argument(self, task: Task, id: bytes, value: wire.Value) -> None:
        """Write an argument's error as the results of a task that never ran."""
        outcomes.note_failed_argument(task.payload, self.scheduler.task_record(task_of(id)), time.time())
        if task.kind is TaskKind.ACTOR_CREATION:
            outcomes.note_failed_creation(self._engine.actors.entries[task.actor_id or b""], value)
        self._write(task, outcomes.same_for_all(task.payload, value))

    def _fail(self, command: do.FailTask) -> None:
        task = command.task
        outcomes.note_failure(task.payload, command, time.time())
        actor = self._engine.actors.entries.get(command.actor_id or task.actor_id or b"")
        self._write(task, outcomes.same_for_all(task.payload, outcomes.failure_value(command, actor)))


def _say(command: do.Warn) -> None:
    if command.message:
        sys.stderr.write(f"nbaccel: {command.message}\n")


def _exit_of(running: Running) -> wire.Done:
    value = failures.failed(
        "ActorDiedError", "The actor ended itself: exit_actor() was called.", actor_id=running.run.actor_id.hex()
    )
    return wire.Done(
        running.task_id, [wire.ReturnValue(value)] * max(running.terms.num_returns, 1), failed=True, exiting=True
    )


def deadlock(words: str) -> exceptions.EngineError:
    """What a get that could never end is told."""
    return exceptions.EngineError(
        f"This would wait without end: {words} In the debug engine everything runs in this process, in order, so "
        "nothing else can go on while this code waits. Run it on the local engine, or submit in another order."
    )
