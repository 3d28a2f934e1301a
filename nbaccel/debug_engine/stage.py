"""Where work happens: carries out what the scheduler orders, in this thread, one thing after the other."""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec

from nbaccel import exceptions
from nbaccel.debug_engine.head import CLIENT, NEVER_S, DebugHead, peer_of
from nbaccel.debug_engine.workers import DebugActor, DebugWorker, IdleLoop, PausedStream
from nbaccel.handles import option_checks
from nbaccel.local_engine import wire
from nbaccel.local_engine.head.objects import delivery
from nbaccel.local_engine.head.records import entry_of
from nbaccel.local_engine.wire.ids import task_of
from nbaccel.local_engine.worker import actor_host, worker_setup
from nbaccel.local_engine.worker.execution import ActorExit, Execution, Running, current_run, set_variables
from nbaccel.local_engine.worker.worker_setup import expanded
from nbaccel.scheduling import commands as do
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.terms import TaskKind

# ---- runs user code as a worker does, but in this process, and keeps what the code raised for a debugger


MOST_RAISED = 50  # their frames hold arguments, and the refs of the code that has submitted them


class DebugExecution(Execution):
    """The local engine's `Execution`, with whole tracebacks."""

    is_worker = False

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.may_set_threads = False  # this process is the user's own
        self.raised: dict[bytes, BaseException] = {}  # task -> what it raised

    def learn(self, key: bytes, code: Any) -> None:
        """Store a function or class as the object itself, so that breakpoints in it work."""
        self._loaded[key] = code

    def _let_go_of(self, running: Running, error: BaseException) -> None:
        """Keep the newest errors with their frames, because `%debug` looks at the frames."""
        self.raised[running.task_id] = error
        for oldest in list(self.raised)[:-MOST_RAISED]:
            del self.raised[oldest]

    def surroundings(self, running: Running) -> ExitStack:
        """Set the task's variables, working directory and import path; leaving the stack restores the old ones."""
        environment = running.environment or {}
        asked = (environment.get("env_vars") or {}).items()
        own = {name: expanded(str(value), os.environ) for name, value in asked}
        variables = {**own, **(running.run.environ or {})}
        with ExitStack() as stack:
            stack.callback(set_variables, {name: os.environ.get(name) for name in variables})
            set_variables(variables)
            if environment.get("working_dir"):
                scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="nbaccel-"))
                _go_to(worker_setup.unpacked(environment["working_dir"], scratch), stack)
            _look_in([os.path.dirname(str(path)) for path in environment.get("py_modules") or []], stack)
            return stack.pop_all()


def set_up(environment: dict[str, Any]) -> None:
    """Call the environment's hook. Raises RuntimeEnvSetupError if this process cannot provide the environment."""
    for field in ("pip", "uv", "conda", "py_executable"):
        if environment.get(field):
            why = f"runtime_env has {field}, but engine='debug' runs everything in this process, as it was started."
            raise exceptions.RuntimeEnvSetupError(why)
    if environment.get("worker_process_setup_hook"):
        worker_setup.call_hook(environment["worker_process_setup_hook"])


def _go_to(path: str, stack: ExitStack) -> None:
    stack.callback(os.chdir, os.getcwd())
    os.chdir(path)
    _look_in([path], stack)


def _look_in(directories: list[str], stack: ExitStack) -> None:
    sys.path[:0] = directories
    stack.callback(_look_no_more_in, directories)


def _look_no_more_in(directories: list[str]) -> None:
    for directory in directories:
        if directory in sys.path:
            sys.path.remove(directory)


class ProcessEnd(Exception):
    """User code ends the process that it runs in."""


class Stage:
    """The workers, and what runs in them."""

    def __init__(self, head: DebugHead, execution: DebugExecution) -> None:
        self._head = head
        self.execution = execution
        self.notify, self.scheduler, self.workers = head.notify, head.scheduler, head.workers
        self.streams: dict[bytes, PausedStream] = {}
        self._wake_at: float | None = None
        head.acts |= {
            do.SendTasks: self._send,
            do.StartWorker: self._start,
            do.StopWorker: self._stop,
            do.RecallTasks: self._recall,
            do.InterruptTask: self._interrupt,
            do.WakeAt: self._wake,
        }

    # ---- who runs, and who waits

    def current(self) -> DebugWorker | None:
        """The worker whose code is on the stack; None for the driver's."""
        running = current_run.get()
        record = self.scheduler.task_record(running.task_id) if running is not None else None
        return self.workers.get(entry_of(record.task).worker_id) if record is not None else None

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """The code that is on the stack waits for others: its CPU is theirs."""
        worker = self.current()
        if worker is None or worker.ended:
            yield
            return
        self.notify(ev.WorkerBlocked(worker.worker_id))
        try:
            yield
        finally:
            if not worker.ended:
                self.notify(ev.WorkerUnblocked(worker.worker_id))

    def go_on(self, until: Callable[[], bool], ids: list[bytes], timeout_s: float | None) -> bool:
        """Let everything go on that can; False when nothing does any more, or not in time. Reads streams of the ids."""
        end = time.monotonic() + (NEVER_S if timeout_s is None else timeout_s)
        while not until():
            stream = next((self.streams[task_of(id)] for id in ids if task_of(id) in self.streams), None)
            if stream is not None:
                self._step(stream)
            elif not self._advance(end):
                return False
        return True

    def _advance(self, end: float) -> bool:
        """Let pass what only needs time: loops of actors, the scheduler's timers. False when nothing moves any more."""
        before = self.scheduler.all_counts()
        for worker in list(self.workers.values()):
            if worker.actor is not None and worker.actor.loop is not None and not worker.ended:
                worker.actor.loop.run()
        if self.scheduler.all_counts() != before:
            return True
        if self._wake_at is None or self._wake_at > end:
            return False
        wait_s, self._wake_at = self._wake_at - time.monotonic(), None
        time.sleep(max(wait_s, 0))
        self.notify(ev.TimePassed())
        return True

    def _wake(self, command: do.WakeAt) -> None:
        if command.at - time.monotonic() > NEVER_S / 2:
            return
        self._wake_at = command.at if self._wake_at is None else min(self._wake_at, command.at)

    # ---- workers

    def _start(self, command: do.StartWorker) -> None:
        worker = DebugWorker(command.worker_id, command.node_id, None, command.pool, os.getpid())
        worker.peer = peer_of(worker)
        worker.peer.templates = self._head.driver.templates  # all code is one client
        self.workers[command.worker_id] = worker
        self.notify(ev.WorkerReady(command.worker_id, os.getpid()))

    def _stop(self, command: do.StopWorker) -> None:
        worker = self.workers.pop(command.worker_id, None)
        if worker is not None:
            if worker.actor is not None and not command.force:
                actor_host.call_shutdown(worker.actor.instance)
            self._die(worker, command.why, intended=True)

    def _die(self, worker: DebugWorker, how: str, *, intended: bool = False) -> None:
        """It was told to end, or its code ended its process, or would have, had it one of its own."""
        self.workers.pop(worker.worker_id, None)
        worker.end()
        self._head.orphaned_work.end(worker, intended)
        self.notify(ev.WorkerDied(worker.worker_id, how, intended=intended))

    def _recall(self, command: do.RecallTasks) -> None:
        worker = self.workers[command.worker_id]
        given = [running.task_id for running in worker.waiting]
        worker.waiting.clear()
        self.notify(ev.TasksGivenBack(command.worker_id, given))

    def _interrupt(self, command: do.InterruptTask) -> None:
        """A sync call sees a flag, a coroutine is cancelled, a stream ends, what has not begun never does."""
        worker, stream = self.workers.get(command.worker_id), self.streams.get(command.task_id)
        if worker is None:
            return
        waiting = {running.task_id: running for running in worker.waiting}
        running = (worker.under_way | waiting).get(command.task_id)
        if running is None:
            return
        running.cancelled = True
        if stream is not None:
            self._end_stream(stream, self.execution.failure(running, KeyboardInterrupt()))
        elif running.asyncio_task is not None and worker.actor is not None and worker.actor.loop is not None:
            running.asyncio_task.cancel()
            worker.actor.loop.run()
        elif running.task_id in waiting:
            worker.waiting.remove(running)
            self._done(worker, running, self.execution.failure(running, KeyboardInterrupt()))

    # ---- running

    def _send(self, command: do.SendTasks) -> None:
        for one in command.each():
            self._send_one(one)

    def _send_one(self, command: do.SendTasks) -> None:
        worker, task = self.workers[command.worker_id], command.task
        entry = entry_of(task)
        terms, record = entry.terms, self.scheduler.task_record(task.task_id)
        entry.attempt, entry.choice_why = (record.attempt, record.choice_why) if record is not None else (0, "")
        ids, notified, environ = self._head.devices.of(command, entry)
        environment = msgspec.json.decode(terms.runtime_env)
        if terms.kind is TaskKind.ACTOR_CALL and worker.actor is not None:  # in the surroundings of its actor
            environ, environment = worker.actor.creation.run.environ, worker.actor.creation.environment
        elif terms.kind is TaskKind.ACTOR_CREATION:
            worker.running_actor = task.actor_id or b""
            self._head.actors.placed(worker.running_actor, worker.worker_id, command.node_id, ids)
        entry.worker_id, entry.node_id, entry.device_ids = worker.worker_id, command.node_id, ids
        entry.choice, worker.used = command.choice, True
        submit = entry.submit
        run = wire.RunTask(
            task.task_id, terms.number, submit.args, [], notified, environ, entry.attempt, command.choice,
            task.actor_id or b"", entry.choice_why,
        )  # fmt: skip
        running = Running(run, terms, environment=environment)
        values = [(place, delivery.give(self._head.object_context, id, CLIENT)) for place, id in submit.slots]
        running.payloads = [(place, (value.status, value.data)) for place, value in values]
        worker.waiting.append(running)
        self._go_on(worker)

    def _go_on(self, worker: DebugWorker) -> None:
        """Begin what was sent, unless this worker's code is on the stack: then it comes after."""
        while worker.waiting and not worker.busy and not worker.ended:
            running = worker.waiting.popleft()
            record = self.scheduler.task_record(running.task_id)
            if record is None or record.over:
                continue  # cancelled since it was sent
            entry = entry_of(record.task)
            entry.started_at, entry.times = time.time(), []
            if running.terms.kind is TaskKind.ACTOR_CALL and worker.actor is not None and worker.actor.loop is not None:
                self._call_async(worker, worker.actor.loop, running)
            else:
                self._run(worker, running)

    def _run(self, worker: DebugWorker, running: Running) -> None:
        actor = (worker.actor.creation if worker.actor is not None else running).terms.actor
        worker.busy = not actor.is_threaded
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

    def _guarded(self, running: Running, work: Callable[[], wire.Done | None]) -> wire.Done | None:
        """Do the work; whatever the user's code raises becomes a Done."""
        token = current_run.set(running)
        try:
            with self.execution.surroundings(running):
                return work()
        except ActorExit:
            return actor_host.exit_of_actor(running)
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

    def _work(self, worker: DebugWorker, running: Running) -> wire.Done | None:
        terms = running.terms
        try:
            set_up(running.environment or {})
        except exceptions.RuntimeEnvSetupError as error:
            return actor_host.not_set_up(running, error)
        if terms.kind is not TaskKind.ACTOR_CREATION:
            return self._concluded(worker, running, self._called(worker, running))
        args, kwargs = self.execution.arguments(running)
        worker.actor = DebugActor(running, worker.under_way)
        worker.actor.construct(self.execution.code(terms, running.run.choice), args, kwargs)
        return actor_host.ended(running)

    def _called(self, worker: DebugWorker, running: Running) -> Any:
        """What the function or method returns."""
        args, kwargs = self.execution.arguments(running)
        terms = running.terms
        if worker.actor is None:
            return self.execution.code(terms, running.run.choice)(*args, **kwargs)
        made = worker.actor.creation.terms
        option_checks.group_of_calls(terms.concurrency_group, made.class_name, made.actor.concurrency_groups)
        return actor_host.method_of(worker.actor.instance, terms.method)(*args, **kwargs)

    def _concluded(self, worker: DebugWorker, running: Running, value: Any) -> wire.Done | None:
        """The Done of what has returned this; None for a stream, which goes on when its reader wants an item."""
        if running.terms.num_returns != wire.STREAMING:
            return self.execution.results(running, value)
        items = value if inspect.isasyncgen(value) else iter(value)
        self.streams[running.task_id] = PausedStream(running, worker, items)
        self.notify(ev.WorkerBlocked(worker.worker_id))  # until then it does not hold a CPU
        return None

    # ---- calls of asyncio actors

    def _call_async(self, worker: DebugWorker, loop: IdleLoop, running: Running) -> None:
        worker.under_way[running.task_id] = running
        running.asyncio_task = loop.loop.create_task(self._coroutine(worker, loop, running))
        loop.run()

    async def _coroutine(self, worker: DebugWorker, loop: IdleLoop, running: Running) -> None:
        token = current_run.set(running)
        done: wire.Done | None
        try:
            done = await self._awaited(worker, running)
        except ActorExit:
            done = actor_host.exit_of_actor(running)
        except BaseException as error:  # the user's coroutine may raise anything; it belongs to the caller
            done = self.execution.failure(running, error)
        finally:
            current_run.reset(token)
        if done is not None:
            worker.under_way.pop(running.task_id, None)
            loop.loop.call_soon(lambda: self._done(worker, running, done))

    async def _awaited(self, worker: DebugWorker, running: Running) -> wire.Done | None:
        value = self._called(worker, running)
        return self._concluded(worker, running, await value if actor_host.is_unfinished(value) else value)

    # ---- streams

    def _step(self, stream: PausedStream) -> None:
        """Run a stream to its next item, or to its end."""
        running = stream.running
        item: list[wire.Item] = []

        def work() -> wire.Done | None:
            try:
                item.append(self.execution.item(running, stream.index, stream.next()))
                return None
            except StopIteration:
                return actor_host.ended(running)

        try:
            done = self._guarded(running, work)
        except ProcessEnd as end:
            self.streams.pop(running.task_id, None)
            self._die(stream.worker, str(end))
            return
        if done is not None:
            self._end_stream(stream, done)
            return
        stream.index += 1
        running.streamed = True
        self._head.receive(stream.worker.peer, item[0])
        self.execution.notified(running)

    def _end_stream(self, stream: PausedStream, done: wire.Done) -> None:
        if stream.ended:
            return
        stream.ended = True
        stream.close()
        del self.streams[stream.running.task_id]
        stream.worker.under_way.pop(stream.running.task_id, None)
        if not stream.worker.ended:
            self.notify(ev.WorkerUnblocked(stream.worker.worker_id))
            self._done(stream.worker, stream.running, done)

    def consumed(self, message: wire.Consumed) -> None:
        """The reader of a stream has taken so many items; -1: it has gone."""
        stream = self.streams.get(message.task_id)
        if stream is not None and message.count < 0:
            self._end_stream(stream, actor_host.ended(stream.running))

    # ---- ends

    def _done(self, worker: DebugWorker, running: Running, done: wire.Done) -> None:
        if running.leaves:  # perhaps the call went on all the same
            done = actor_host.exit_of_actor(running)
        if not worker.ended:
            if done.exiting and worker.actor is not None:
                actor_host.call_shutdown(worker.actor.instance)
            self._head.receive(worker.peer, running.ended(done))
        self.execution.notified(running)


def deadlock(words: str) -> exceptions.EngineError:
    """What a get that could never end is told."""
    return exceptions.EngineError(
        f"This would wait without end: {words} In the debug engine everything runs in this process, in order, so "
        "nothing else can go on while this code waits. Run it on the local engine, or submit in another order."
    )
