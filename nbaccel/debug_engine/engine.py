"""The debug engine as users see it: a client of the local engine whose head and workers are this very process."""

from __future__ import annotations

import gc
import inspect
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace as changed
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.debug_engine.head import CLIENT, NEVER_S, DebugHead, peer_of
from nbaccel.debug_engine.workers import DebugActor, DebugWorker, IdleLoop, PausedStream
from nbaccel.handles import option_checks
from nbaccel.handles.code_facts import CodeFacts
from nbaccel.handles.options import InitOptions
from nbaccel.handles.remote import ObjectRef, ObjectRefGenerator
from nbaccel.local_engine import wire
from nbaccel.local_engine.client import submitter
from nbaccel.local_engine.client.calls import Client
from nbaccel.local_engine.client.exports import Exports
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.client.object_client import Waiter
from nbaccel.local_engine.client.submitter import DriverCode
from nbaccel.local_engine.head.objects import delivery
from nbaccel.local_engine.head.records import entry_of
from nbaccel.local_engine.wire import codec, failures, main_module
from nbaccel.local_engine.wire.ids import return_id, task_of
from nbaccel.local_engine.worker import actor_host, worker_setup
from nbaccel.local_engine.worker.execution import ActorExit, Execution, Running, current_run, set_variables
from nbaccel.local_engine.worker.worker_setup import expanded
from nbaccel.local_engine.worker.worker_view import WorkerView
from nbaccel.scheduling import commands as do
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.terms import TaskKind, Terms
from nbaccel.views.observer_lines import Question
from nbaccel.views.snapshot import OnSnapshot

# ---- A link without a connection: the head handles each message at once, in the sender's thread, and answers there


A = TypeVar("A")


class DirectLink(Link):
    """The link between the debug engine's driver side and its head; `receive` passes a message to the head."""

    def __init__(self, receive: Callable[[Any], None]) -> None:
        unused = socket.socket(socket.AF_UNIX)
        unused.close()
        super().__init__(unused, on_lost=lambda why: None)
        self._give_to_head = receive

    def send(self, message: Any) -> None:
        """Send a message, after the messages that wait in the outbox."""
        self._outbox.append(message)
        if type(message) is not wire.AddRef:  # sent under a lock that the head may need for its next step
            self._deliver()

    send_at_once = send_now = send

    def send_later(self, message: Any) -> None:
        """Send a message with the next one: a finaliser may call this, and no user code may run in a finaliser."""
        self._outbox.append(message)

    def nudge(self) -> None:
        """Do nothing: waiting messages leave with the next one."""

    def flush_ended(self) -> None:
        self.take_ended()

    def flush(self) -> None:
        """Send the waiting messages, and the news of refs that have ended."""
        self.take_ended()
        for gather in self.before_write:
            gather()
        self._deliver()

    def _deliver(self) -> None:
        while self._outbox:
            self._give_to_head(self._outbox.popleft())

    def ask(self, question: Question[A], *, timeout_s: float | None = None) -> A:
        """Ask the head and return its answer. Raises GetTimeoutError if the head defers it: it would never come."""
        self.flush()
        return super().ask(question, timeout_s=0)

    def take(self, message: Any) -> None:
        """Handle a message from the head."""
        self.receivers[type(message)](message)


JOB = 1


class DebugEngine(Client):
    """Keeps the promise of an engine in one process and one thread."""

    name = "debug"
    running: Running | None = None  # `current_run` alone tells

    def __init__(self, options: InitOptions) -> None:
        link = DirectLink(lambda message: self._head.receive(self._speaker(), message))
        self._head = DebugHead(options, lambda peer, message: link.take(message))
        inside = self._inside = WorkerView(self, DriverCode(submitter.spelled_out(options.runtime_env)))
        super().__init__(self, link, inside, JOB, -1, self._head.job.namespace)
        self.execution = DebugExecution(self)
        self.exports = OwnCode(link, self.execution.learn)
        self._head.tasks.functions.on_forgotten = self.execution.forget
        self.stage = Stage(self._head, self.execution)
        link.receivers[wire.Consumed] = self.stage.consumed
        here = os.getcwd()
        self.setup = wire.Setup(JOB, CLIENT, self.namespace, [], here, {}, "debug", self._head.nodes.node_id, here)
        self.actor_devices, self.report_progress = inside.actor_devices, inside.report_progress
        self.current_actor, self.exit_actor = inside.current_actor, inside.exit_actor
        self.ended = False
        main_module.stays_here(True)
        self._head.begin()

    def _speaker(self) -> Any:
        worker = self.stage.current()
        return worker.peer if worker is not None else self._head.driver

    # ---- what this code is, asked by `_inside`

    @property
    def actor(self) -> DebugActor | None:
        worker = self.stage.current()
        return worker.actor if worker is not None else None

    @property
    def worker_id(self) -> bytes:
        worker = self.stage.current()
        return worker.worker_id if worker is not None else b"\xff" * 28

    def context(self) -> CodeFacts:
        return changed(self._inside.context(), address="debug", is_worker=current_run.get() is not None)

    # ---- submitting: a task may run before this returns

    def _send(self, *submitted: Any) -> Any:
        self.link.flush()
        with self.stage.waiting():
            return super()._send(*submitted)

    def _define(self, terms: Terms) -> int:
        """In one process nothing is fresh, and no worker is replaced."""
        return super()._define(replace(terms, fresh=False, max_calls=0))

    # ---- objects

    def store(self, payload: bytes | codec.PayloadPieces, status: int = wire.OK) -> tuple[wire.Value, None]:
        return wire.Value(status, payload if isinstance(payload, bytes) else payload.joined()), None

    def _loaded(self, id: bytes, status: int, data: Any) -> Any:
        """An error's traceback goes on into the task, where a debugger will stop."""
        raised = self.execution.raised.get(task_of(id))
        if status == wire.OK or raised is None:
            return super()._loaded(id, status, data)
        raise failures.error_of(status, data).with_traceback(raised.__traceback__)

    def payloads(self, ids: list[bytes], timeout_s: float | None) -> list[tuple[int, Any]]:
        self.link.flush()  # also what has gone out of scope is noticed by now
        return super().payloads(ids, timeout_s)

    def _pause(self, waiter: Waiter, needed: int, ids: list[bytes], timeout_s: float | None) -> bool:
        return self._go_on(lambda: waiter.complete or len(waiter.ids) >= needed, ids, timeout_s)

    def _go_on(self, enough: Callable[[], bool], ids: list[bytes], timeout_s: float | None) -> bool:
        """Let everything go on until there is enough; False after the timeout. Raises EngineError for a deadlock."""
        missing = [id for id in ids if not self.values.first_ready([id], 1)]
        in_time = self.stage.go_on(enough, missing, timeout_s)
        if not in_time and not enough():
            gc.collect()  # a cycle may have the last handle of what is waited for
            self.link.flush()
            in_time = self.stage.go_on(enough, missing, 0.0 if timeout_s is not None else None)
        if not in_time and timeout_s is None:
            raise self._never(next(id for id in missing if not self.values.first_ready([id], 1)))
        return in_time

    def _never(self, id: bytes) -> Exception:
        """What to raise for an object that nothing makes any more."""
        rows = self.explain(task_of(id).hex())
        return deadlock(rows[0].sentence if rows else f"object {id.hex()} does not exist any more.")

    def blocked(self) -> AbstractContextManager[Any]:
        return self.stage.waiting()

    _finish_soon = Client._finish

    # ---- streams: an item is made when it is asked for

    def next_item(self, stream: ObjectRefGenerator, timeout_s: float | None) -> ObjectRef[Any] | None:
        end = return_id(stream._task_id, 0)
        if not self.streams.is_ready(stream):  # what is there already is no reason to lend the CPU
            with self.blocked():
                self._go_on(lambda: self.streams.is_ready(stream), [end], timeout_s)
        return self.streams.next_item(stream, timeout_s)

    def when_next_item(self, stream: ObjectRefGenerator, callback: Callable[[], None]) -> None:
        callback()

    def close_stream(self, stream: ObjectRefGenerator) -> None:
        """Its generator is closed at once, unless this is a finaliser that came while the books are being changed."""
        super().close_stream(stream)
        if not self.references.is_changing() and not self.values.is_changing():
            self.link.flush()

    def stream_ready(self, stream: ObjectRefGenerator) -> bool:
        return True

    # ---- views, and the end

    def watch(self, callback: OnSnapshot | None, *, metrics: bool = True, rows: int = 0, reader: str = "view") -> None:
        """Call back with one snapshot: in this engine nothing changes while the caller waits."""
        if callback is not None:
            callback(None if self.ended else self.snapshot())

    def shutdown(self) -> None:
        self.ended = True
        main_module.stays_here(False)
        self.link.leave()
        self._head.notify(ev.JobEnded(JOB))
        engines.adopt(None)


_PROMISE: type[engines.Engine] = DebugEngine  # mypy compares them


class OwnCode(Exports):
    """Functions and classes stay the objects that they are, so that breakpoints in them are met."""

    def __init__(self, link: Link, learn: Callable[[bytes, Any], None]) -> None:
        super().__init__(link)
        self._learn = learn

    def _pickled(self, code: Any, name: str) -> tuple[bytes, bytes, list[bytes]]:
        super()._pickled(code, name)  # what could not travel to a worker is refused here too
        key = os.urandom(16)
        self._learn(key, code)
        return key, b"", []  # the code itself has what it captured


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
