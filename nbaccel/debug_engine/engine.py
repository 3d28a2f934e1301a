"""The debug engine as users see it: a client of the local engine whose head and workers are this very process."""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace as changed
from typing import Any, TypeVar

from msgspec.structs import replace

from nbaccel import engine as engines
from nbaccel.debug_engine.head import CLIENT, DebugHead
from nbaccel.debug_engine.stage import DebugExecution, Stage, deadlock
from nbaccel.debug_engine.workers import DebugActor
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
from nbaccel.local_engine.wire import codec, failures, main_module
from nbaccel.local_engine.wire.ids import return_id, task_of
from nbaccel.local_engine.worker.execution import Running, current_run
from nbaccel.local_engine.worker.worker_view import WorkerView
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.terms import Terms
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
