"""Takes the tasks that clients submit: learns their terms once, promises their results, and tells the scheduler."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Protocol

import msgspec

from nbaccel.handles.option_checks import MOST_RETURNS
from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Handler
from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.environments import Environments
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.objects.delivery import Fill
from nbaccel.local_engine.head.objects.tables import ObjectTables
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import CANCELLED, Job, TaskEntry, entry_of
from nbaccel.local_engine.head.refusal import Refusal, id_of
from nbaccel.local_engine.head.tasks.arguments import Arguments
from nbaccel.local_engine.head.tasks.functions import Functions
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire import failures
from nbaccel.local_engine.wire.ids import IdMaker, return_id
from nbaccel.scheduling.events import ArgumentFailed, CancelAsked, TasksSubmitted
from nbaccel.scheduling.terms import ACTOR_CREATION, Task, Terms
from nbaccel.views.observer_lines import CancelTask, RetryTask
from nbaccel.views.question import Row


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
        tell: Tell,
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
        self._tell = tell
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
        self._tell(event)

    def _retry(self, peer: Peer, asked: RetryTask) -> str:
        """Submit a failed task's call once more, for the driver of its job: nobody holds its results yet."""
        calls = self._arguments.failed_calls
        failed = calls.take(id_of(asked.task_id, "a task")) if calls is not None else None
        if failed is None:
            raise Refusal(
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
        self._tell(TasksSubmitted([task]))
        return task_id.hex()

    def _results(self, peer: Peer, asked: asks.FindResults) -> list[bytes]:
        task_id, ids = id_of(asked.task_id, "a task"), list[bytes]()
        while (id := return_id(task_id, len(ids))) in self._objects.records:
            ids.append(id)
        if not ids:
            raise Refusal("ValueError", f"Task {asked.task_id} has no result here, or nobody holds it any more.")
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
        self._tell(TasksSubmitted(tasks))

    def _submit(self, peer: Peer, message: wire.Submit) -> None:
        terms = peer.templates[message.template]
        missing, broken = self._look_at_arguments(message) if message.slots else (None, None)
        self._arguments.pin(message, terms)
        worker_id = peer.worker.worker_id if peer.worker is not None else None
        task = self._task(message, terms, peer.client_id, worker_id, missing)
        entry = entry_of(task)
        if terms.kind is ACTOR_CREATION:
            self._actor_submitted(peer, entry, task)
        self._tell(TasksSubmitted([task]))
        if broken is not None and not entry.failed:
            self._failing.fail_for_argument(task, *broken)
            self._tell(ArgumentFailed(message.task_id, entry.error_type == CANCELLED))

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
