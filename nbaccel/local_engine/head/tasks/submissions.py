"""Takes the tasks that clients submit: learns their functions and terms, promises their results, tells the scheduler.

The functions and classes that clients have exported, as bytes: workers get each with the first task that needs it.
```
  DefineFunction ──► kept, and what it has captured is pinned
  ReleasesCode, or the client's end ──► nobody has it ── no living task names it ──► forgotten here and in workers
  something may still name it ──► looked for again, more and more rarely
```
Looking costs a walk over the living tasks, once for all functions that were released; a task itself costs nothing.

The calls of failed tasks, kept for a while with their arguments, so that a person can have them run again.

A call is kept for ten minutes after its task has failed, as long as all kept calls together are small. A call whose
arguments are missing, or that would keep an actor alive, is not kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, Protocol

import msgspec

from nbaccel.handles.option_checks import MOST_RETURNS
from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Handler, Peer, QuestionError, Send, id_of
from nbaccel.local_engine.head.decisions import Notify
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.objects.delivery import Fill
from nbaccel.local_engine.head.objects.tables import ObjectTables
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.head.records import CANCELLED, Environments, Job, TaskEntry, entry_of
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire import failures
from nbaccel.local_engine.wire.ids import IdMaker, return_id
from nbaccel.scheduling.events import ArgumentFailed, CancelAsked, TasksSubmitted
from nbaccel.scheduling.terms import ACTOR_CALL, ACTOR_CREATION, Task, TaskKind, Terms
from nbaccel.views.observer_lines import CancelTask, RetryTask, Row

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 30.0  # between two looks at who names what was released
SHARE = 0.05  # of the time that looking may take: a walk over a million waiting tasks takes 0.36 s


class FunctionRecord(msgspec.Struct):
    """One function or class. `holders`: the clients that have a remote function or actor class with this code."""

    message: wire.DefineFunction
    pinned: list[bytes]  # the objects and actors to which it refers, as far as they were there
    holders: set[int]


class Functions:
    """The code of all functions and classes, by key. `timers` is None where looking waits for nothing."""

    def __init__(
        self, objects: ObjectTables, peers: Mapping[int, Peer], send: Send, timers: LoopTimers | None = None
    ) -> None:
        self._objects = objects
        self._peers = peers
        self._send = send
        self._timers = timers
        self.named_by: list[Callable[[], Iterable[Terms]]] = []  # the terms of all that may still run
        self.on_forgotten: Callable[[list[bytes]], object] = self._forget_in_workers
        self._by_key: dict[bytes, FunctionRecord] = {}
        self._of_client: dict[int, set[bytes]] = {}
        self._released: set[bytes] = set()  # held by no client
        self._is_timed = False
        self._not_before = 0.0
        self._pause_s = FIRST_PAUSE_S

    def define(self, peer: Peer, message: wire.DefineFunction) -> None:
        record = self._by_key.get(message.key)
        if record is None:
            pinned = [id for id in message.refs if id in self._objects.records]
            ledger.pin(self._objects, pinned)
            record = self._by_key[message.key] = FunctionRecord(message, pinned, set())
        record.holders.add(peer.client_id)
        self._of_client.setdefault(peer.client_id, set()).add(message.key)
        self._released.discard(message.key)

    def teach(self, peer: Peer, terms: Terms) -> None:
        """Send the terms and their functions to a worker that does not know them."""
        if terms.number in peer.defined:
            return
        for key in terms.functions:
            if key not in peer.functions:
                peer.functions.add(key)
                peer.out.append(self._by_key[key].message)
        peer.defined.add(terms.number)
        peer.out.append(wire.DefineTemplate(terms.number, terms))

    def captured(self, terms: Terms) -> list[bytes]:
        """The objects and actors to which the functions of these terms refer."""
        return [id for key in terms.functions if key in self._by_key for id in self._by_key[key].pinned]

    # ---- the end of a function

    def released(self, peer: Peer, message: wire.ReleasesCode) -> None:
        """A client has no remote function or actor class with this code any more."""
        self._release(peer.client_id, message.keys)

    def client_gone(self, client_id: int) -> None:
        """A driver or worker has ended."""
        self._release(client_id, list(self._of_client.pop(client_id, ())))

    def _release(self, client_id: int, keys: list[bytes]) -> None:
        for key in keys:
            self._of_client.get(client_id, set()).discard(key)
            record = self._by_key.get(key)
            if record is not None:
                record.holders.discard(client_id)
                if not record.holders:
                    self._released.add(key)
                    self._pause_s = FIRST_PAUSE_S
        self.look_soon()

    def look_soon(self) -> None:
        """Look whether something still names what was released."""
        if not self._released or self._is_timed:
            return
        if self._timers is None:
            self.look()
            return
        self._is_timed = True
        self._timers.at(max(self._timers.now(), self._not_before), self._look_in_time)

    def _look_in_time(self) -> None:
        assert self._timers is not None
        self._is_timed = False
        began = self._timers.now()
        self.look()
        took_s = self._timers.now() - began
        self._not_before = began + max(self._pause_s, took_s / SHARE)
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
        self.look_soon()

    def look(self) -> None:
        """Forget what was released and nothing names."""
        gone = set(self._released)
        for named in self.named_by:
            for terms in named():
                gone.difference_update(terms.functions)
        if gone:
            self._forget(list(gone))

    def _forget(self, keys: list[bytes]) -> None:
        self._released.difference_update(keys)
        self.on_forgotten(keys)
        for key in keys:
            ledger.unpin_later(self._objects, self._by_key.pop(key).pinned)

    def _forget_in_workers(self, keys: list[bytes]) -> None:
        for peer in self._peers.values():
            known = peer.functions.intersection(keys)
            if known:
                peer.functions -= known
                peer.defined.clear()  # templates that name them among others: they are few, and are sent again
                self._send(peer, wire.ForgetFunctions(list(known)))


KEPT_S = 600.0
MOST_BYTES = 100_000_000  # of the arguments of all kept calls
MOST_CALLS = 200  # a snapshot shows fewer failures


class KeptCall(msgspec.Struct):
    """A failed task, the bytes of its arguments, and when they are let go."""

    task: Task
    size_bytes: int
    until: float


class FailedCalls:
    """Keeps the newest of them. `unpin` lets a call's arguments go."""

    def __init__(
        self, objects: ObjectTables, unpin: Callable[[TaskEntry, Task], None], timers: LoopTimers, most_bytes: int
    ) -> None:
        self._objects = objects
        self._unpin = unpin
        self._timers = timers
        self._most_bytes = min(MOST_BYTES, most_bytes)
        self._kept: dict[bytes, KeptCall] = {}  # by task, the oldest first
        self._ended_jobs: set[int] = set()
        self.captured: Callable[[Terms], list[bytes]] = lambda terms: []  # what functions refer to
        self._is_timed = False

    def keep(self, task: Task, entry: TaskEntry) -> bool:
        """Keep the call of a task that is over, with its arguments. Returns whether it is kept."""
        if not self._can_run_again(task, entry):
            return False
        size_bytes = len(entry.submit.args) + sum(map(self._size, _objects_in(entry.submit)))
        if size_bytes > self._most_bytes:
            return False
        self._kept[task.task_id] = KeptCall(task, size_bytes, self._timers.now() + KEPT_S)
        self._set_timer()
        while len(self._kept) > MOST_CALLS or sum(call.size_bytes for call in self._kept.values()) > self._most_bytes:
            self._let_go(next(iter(self._kept)))
        entry.retryable = True  # last: what is interrupted before is done again
        return True

    def take(self, task_id: bytes) -> Task | None:
        """A kept call, to run it again: its arguments belong to the new task from here on. None if it is not kept."""
        call = self._kept.pop(task_id, None)
        if call is None:
            return None
        entry = entry_of(call.task)
        entry.retryable = entry.pinned = False
        return call.task

    def job_ended(self, job: int) -> None:
        """Let go of the calls of a job whose driver has ended; what of it fails later is not kept."""
        self._ended_jobs.add(job)
        for task_id in [id for id, call in self._kept.items() if call.task.job == job]:
            self._let_go(task_id)

    def terms(self) -> list[Terms]:
        """Those of the kept calls."""
        return [call.task.terms for call in self._kept.values()]

    def _can_run_again(self, task: Task, entry: TaskEntry) -> bool:
        terms = entry.terms
        return (
            terms.kind is TaskKind.TASK  # a call of an actor depends on the calls before it
            and terms.num_returns not in (wire.STREAMING, wire.DYNAMIC)  # the reader of the stream has its end
            and entry.failed
            and entry.pinned
            and entry.error_type != CANCELLED
            and task.job not in self._ended_jobs
            and all(self._is_here(id) for id in _objects_in(entry.submit))
            and not self._holds_an_actor(_objects_in(entry.submit) + self.captured(terms))
        )

    def _is_here(self, id: bytes) -> bool:
        record = self._objects.records.get(id)
        return id in self._objects.actor_ids or (
            record is not None and record.value is not None and record.value.status == wire.OK
        )

    def _holds_an_actor(self, ids: Iterable[bytes]) -> bool:
        """Whether an actor would live longer, because its handle is among the arguments or inside of one."""
        seen: set[bytes] = set()
        waiting = list(ids)
        while waiting:
            id = waiting.pop()
            record = self._objects.records.get(id)
            if id in self._objects.actor_ids:
                return True
            if id not in seen and record is not None:
                seen.add(id)
                waiting += record.contains or []
        return False

    def _size(self, id: bytes) -> int:
        record = self._objects.records.get(id)
        value = record.value if record is not None else None
        if value is None:
            return 0
        return len(value.data) if value.data is not None else value.size

    def _let_go(self, task_id: bytes) -> None:
        task = self._kept[task_id].task
        entry = entry_of(task)
        entry.retryable = False
        self._unpin(entry, task)
        del self._kept[task_id]

    def _set_timer(self) -> None:
        """Come back when the oldest call is due."""
        if not self._is_timed and self._kept:
            self._timers.at(next(iter(self._kept.values())).until, self._due)
            self._is_timed = True

    def _due(self) -> None:
        self._is_timed = False
        for task_id in [id for id, call in self._kept.items() if call.until <= self._timers.now()]:
            self._let_go(task_id)
        self._set_timer()


def _objects_in(submit: wire.Submit) -> list[bytes]:
    return [id for _place, id in submit.slots] + submit.refs


class Arguments:
    """Pins the arguments of tasks in the object ledger.

    With `timers`, the arguments of failed tasks are kept for a while, at most `most_kept_bytes` of them.
    """

    def __init__(self, objects: ObjectTables, timers: LoopTimers | None = None, most_kept_bytes: int = 0) -> None:
        self._objects = objects
        self.failed_calls = FailedCalls(objects, self.unpin, timers, most_kept_bytes) if timers is not None else None

    def pin(self, submit: wire.Submit, terms: Terms) -> None:
        """Pin the objects that a newly submitted task needs."""
        if submit.slots:
            ledger.pin(self._objects, (id for _place, id in submit.slots))
        if submit.refs:
            ledger.pin(self._objects, submit.refs)
        if submit.actor_id and terms.kind is ACTOR_CALL:
            ledger.pin(self._objects, (submit.actor_id,))  # a call under way keeps its actor alive

    def state(self, id: bytes) -> tuple[wire.Value | None, bool]:
        """The state of an argument: (its value if it is an error, whether it has not arrived yet)."""
        record = self._objects.records.get(id)
        if record is None:
            return failures.failed(
                "ObjectLostError", f"Object {id.hex()} does not exist any more: its last ref was released."
            ), False
        if record.value is None:
            return None, True
        return (record.value if record.value.status != wire.OK else None), False

    def let_go(self, entry: TaskEntry, task: Task) -> None:
        """Unpin the arguments of a task that is over, unless a restart needs them or its call is kept."""
        if not entry.pinned or entry.retryable:
            return
        terms = task.terms
        if terms.kind is ACTOR_CREATION and terms.actor.max_restarts and not entry.failed:
            return  # a restart needs the arguments: they are unpinned when the actor dies
        if entry.failed and self.failed_calls is not None and self.failed_calls.keep(task, entry):
            return
        self.unpin(entry, task)

    def terms(self) -> list[Terms]:
        """Those of the failed calls that are kept."""
        return self.failed_calls.terms() if self.failed_calls is not None else []

    def unpin(self, entry: TaskEntry, task: Task) -> None:
        """Unpin the arguments of a task that will not run again."""
        if not entry.pinned:
            return
        submit = entry.submit
        if submit.slots or submit.refs or submit.actor_id:
            pinned = [id for _place, id in submit.slots] + submit.refs
            if submit.actor_id and task.terms.kind is ACTOR_CALL:
                pinned.append(submit.actor_id)
            ledger.unpin_later(self._objects, pinned)
        entry.pinned = False
        submit.args = b""


class Failing(Protocol):
    """The component that writes the error of a task that never runs."""

    def fail_for_argument(self, task: Task, id: bytes, value: wire.Value) -> None: ...


class SubmissionIntake:
    """Handles submissions and cancellations."""

    def __init__(
        self,
        objects: ObjectTables,
        arguments: Arguments,
        functions: Functions,
        environments: Environments,
        jobs: Mapping[int, Job],
        notify: Notify,
        failing: Failing,
        *,
        fill: Fill,
        read: Callable[[list[bytes]], None],
        cancelled: Callable[[bytes], None],
        actor_submitted: Callable[[Peer, TaskEntry, Task], None],
        zygote_for: Callable[[str, str], str],
        is_shared: bool,
    ) -> None:
        self._objects = objects
        self._arguments = arguments
        self._functions = functions
        self._environments = environments
        self._jobs = jobs
        self._notify = notify
        self._failing = failing
        self._fill = fill
        self._cancelled = cancelled  # called with a task that may have ended
        self._read = read  # called with objects whose errors a client has seen
        self._actor_submitted = actor_submitted
        self._zygote_for = zygote_for  # the fork server of drivers with this prefix and interpreter
        self._is_shared = is_shared  # several notebooks use this head, and their cells may share names
        self._template_count = 0
        self._ids: dict[int, IdMaker] = {}  # of the tasks that the head submits for a job

    def handlers(self) -> dict[type, Handler]:
        """The messages that drivers and workers may send, with their handlers."""
        return {
            wire.DefineFunction: self._functions.define,
            wire.ReleasesCode: self._functions.released,
            wire.Surroundings: self._surroundings,
            wire.DefineTemplate: self._define_template,
            wire.Submit: self._submit,
            wire.Cancel: lambda peer, m: self._cancel_task(CancelAsked(m.task_id, m.force, m.recursive)),
        }

    def answers(self) -> list[Row[Peer]]:
        """The questions about tasks, with their handlers."""
        return [
            CancelTask.answered_by(self._cancel),
            RetryTask.answered_by(self._retry),
            asks.FindResults.answered_by(self._results),
        ]

    def _cancel(self, peer: Peer, asked: CancelTask) -> None:
        self._cancel_task(CancelAsked(id_of(asked.task_id, "a task"), asked.force))

    def _cancel_task(self, event: CancelAsked) -> None:
        self._cancelled(event.task_id)
        self._notify(event)

    def _retry(self, peer: Peer, asked: RetryTask) -> str:
        """Submit a failed task's call once more, for the driver of its job: nobody holds its results yet."""
        calls = self._arguments.failed_calls
        failed = calls.take(id_of(asked.task_id, "a task")) if calls is not None else None
        if failed is None:
            raise QuestionError(
                "ValueError",
                f"Task {asked.task_id} cannot be run again: the head keeps the call of a failed task for ten minutes, "
                "for at most 100 MB of arguments, and not if it was an actor's, a stream's or cancelled. Call the "
                "function again.",
            )
        old = entry_of(failed)
        job = failed.job
        task_id = self._ids.setdefault(job, IdMaker(job)).task_id()
        submit = msgspec.structs.replace(old.submit, task_id=task_id, parent=b"")
        old.submit.args = b""
        task = self._task(submit, old.terms, self._jobs[job].client_id, None, None)
        entry_of(task).retry_of = failed.task_id
        self._notify(TasksSubmitted([task]))
        return task_id.hex()

    def _results(self, peer: Peer, asked: asks.FindResults) -> list[bytes]:
        task_id, ids = id_of(asked.task_id, "a task"), list[bytes]()
        while (id := return_id(task_id, len(ids))) in self._objects.records:
            ids.append(id)
        if not ids:
            raise QuestionError("ValueError", f"Task {asked.task_id} has no result here, or nobody holds it any more.")
        return ids

    def _surroundings(self, peer: Peer, message: wire.Surroundings) -> None:
        if peer.role != "driver":
            raise ValueError("surroundings of a job from somebody else than its driver")
        self._jobs[peer.job].surroundings[message.number] = message

    def _define_template(self, peer: Peer, message: wire.DefineTemplate) -> None:
        self._template_count += 1
        terms = message.terms
        if not 0 <= terms.returns <= MOST_RETURNS:  # the submission records each return value: too many take too long
            raise ValueError(f"a template with {terms.returns} return values")
        job = self._jobs.get(peer.job)
        hello = job.hello if job else None
        if job is not None and terms.surroundings not in job.surroundings:
            raise ValueError(f"a template with unknown surroundings {terms.surroundings}")
        peer.templates[message.number] = terms.of_job(
            peer.job,
            self._template_count,
            zygote=self._zygote_for(hello.prefix, f"{hello.prefix}/bin/python") if hello else "",
            cell_in_words=self._cell(terms.cell, job),
            refuse_infeasible=hello is not None and hello.infeasible == "raise",
        )
        self._environments.learn(terms.environment, terms.runtime_env)

    def _cell(self, cell: str, job: Job | None) -> str:
        """The cell as messages name it, with its notebook if the head serves several."""
        return f"{cell} of {job.name}" if cell and job is not None and self._is_shared else cell

    def alike(self, peer: Peer, messages: list[Any], start: int) -> int:
        """How many messages from `start` on are a driver's submissions of one plain function, all arguments here."""
        template = messages[start].template
        terms = peer.templates.get(template)
        number = 0
        if terms is not None and terms.is_plain:
            for m in islice(messages, start, None):
                if type(m) is not wire.Submit or m.template != template or m.slots or m.refs or m.actor_id or m.parent:
                    break
                number += 1
        return number

    def submit_all(self, peer: Peer, messages: list[wire.Submit]) -> None:
        """A driver submits plain tasks that are alike: promise their results, and tell the scheduler.

        Of each only its arguments are kept until it is sent: `entry_of` makes the rest.
        """
        terms: Terms = peer.templates[messages[0].template]
        client_id, now, retries = peer.client_id, time.time(), terms.max_retries or 0
        caller = client_id.to_bytes(8, "big")
        ids, tasks = list[bytes](), list[Task]()
        for m in messages:
            ids.append(return_id(m.task_id, 0))
            tasks.append(Task(terms, m.task_id, m.args, None, None, None, caller, None, now, retries))
        ledger.promise_all(self._objects, ids, client_id)
        self._notify(TasksSubmitted(tasks))

    def _submit(self, peer: Peer, message: wire.Submit) -> None:
        terms = peer.templates[message.template]
        missing, broken = self._look_at_arguments(message) if message.slots else (None, None)
        self._arguments.pin(message, terms)
        worker_id = peer.worker.worker_id if peer.worker is not None else None
        task = self._task(message, terms, peer.client_id, worker_id, missing)
        entry = entry_of(task)
        if terms.kind is ACTOR_CREATION:
            self._actor_submitted(peer, entry, task)
        self._notify(TasksSubmitted([task]))
        if broken is not None and not entry.failed:
            self._failing.fail_for_argument(task, *broken)
            self._notify(ArgumentFailed(message.task_id, entry.error_type == CANCELLED))

    def _task(
        self, submit: wire.Submit, terms: Terms, client_id: int, worker_id: bytes | None, missing: set[bytes] | None
    ) -> Task:
        """A task whose results belong to this client; its arguments are pinned already."""
        for index in range(terms.returns):
            ledger.promise(self._objects, return_id(submit.task_id, index), client_id)
        entry = TaskEntry(submit, terms, client_id, time.time())
        return Task(
            terms,
            submit.task_id,
            entry,
            missing,
            submit.actor_id or None,
            submit.parent or None,
            client_id.to_bytes(8, "big"),
            worker_id,
            entry.submitted_at,
            terms.max_retries or 0,
        )

    def _look_at_arguments(self, message: wire.Submit) -> tuple[set[bytes] | None, tuple[bytes, wire.Value] | None]:
        """The arguments of a submission: (the ids that are missing, the first one that is an error)."""
        missing: set[bytes] | None = None
        broken: tuple[bytes, wire.Value] | None = None
        for _place, id in message.slots:
            value, is_missing = self._arguments.state(id)
            if is_missing or value is not None:
                missing = missing or set()
                missing.add(id)
            if value is not None:
                broken = broken or (id, value)
                self._read([id])
        return missing, broken

    def failed(self, peer: Peer, message: wire.Submit, error: Exception) -> None:
        """Write an error as the results of a task that the head could not take, so that nobody waits for them."""
        terms = peer.templates.get(message.template)
        value = failures.failed(
            "RaySystemError",
            "The head could not accept this task; `nbaccel doctor` shows the head's notes. Please report it.",
            task_id=message.task_id.hex(),
        )
        for index in range(terms.returns if terms is not None else 1):
            id = return_id(message.task_id, index)
            ledger.promise(self._objects, id, peer.client_id)
            self._fill(id, value, [], peer.client_id)
