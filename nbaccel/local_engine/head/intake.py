"""From messages to events: what each word of a client means for objects and for the scheduler."""

from __future__ import annotations

import os
import socket
import sys
import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbaccel import __version__
from nbaccel.handles.option_checks import MOST_RETURNS
from nbaccel.local_engine import wire
from nbaccel.local_engine.head import outcomes
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import (
    CANCELLED,
    ActorEntry,
    TaskEntry,
    WorkerProcess,
)
from nbaccel.local_engine.wire import failures
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling.events import (
    ActorKillAsked,
    ArgumentFailed,
    CancelAsked,
    TaskReturned,
    TasksGivenBack,
    TaskSubmitted,
    WorkerBlocked,
    WorkerUnblocked,
)
from nbaccel.scheduling.terms import Task, TaskKind

if TYPE_CHECKING:
    from nbaccel.local_engine.head.loop import Head


class Intake:
    """The head's ears."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._objects = head.objects
        self.functions: dict[bytes, wire.DefineFunction] = {}
        self._functions_of: dict[int, set[bytes]] = {}  # job -> what it defined
        self._template_count = 0
        self._waiting_for_node: list[Peer] = []

    def handlers(self) -> dict[str, dict[type, Callable[[Peer, Any], None]]]:
        """What each role may say, and who hears it. Nobody is more than "new" before the token was shown."""
        head = self._head
        both: dict[type, Callable[[Peer, Any], None]] = {
            wire.Submit: self._submit,
            wire.DefineFunction: self._define_function,
            wire.DefineTemplate: self._define_template,
            wire.Consumed: self._consumed,
            wire.Cancel: lambda peer, m: head.handle(CancelAsked(m.task_id, m.force, m.recursive)),
            wire.KillActor: lambda peer, m: head.handle(ActorKillAsked(m.actor_id, m.no_restart, why=m.why)),
            wire.Ask: lambda peer, m: head.questions.ask(peer, m),
        }
        worker: dict[type, Callable[[Peer, Any], None]] = {
            wire.WorkerHello: lambda peer, m: head.workers.introduced(peer.worker, m.pid),
            wire.Done: self._done,
            wire.Item: self._item,
            wire.Blocked: lambda peer, m: head.handle(WorkerBlocked(peer.worker.worker_id)),
            wire.Unblocked: lambda peer, m: head.handle(WorkerUnblocked(peer.worker.worker_id)),
            wire.GivenBack: lambda peer, m: head.handle(TasksGivenBack(peer.worker.worker_id, m.task_ids)),
            wire.Progress: self._progress,
        }
        return {
            "new": {wire.Hello: self._hello},
            "driver": {**head.object_requests.handlers(), **both, wire.Bye: self._bye},
            "worker": {**head.object_requests.handlers(), **both, **worker},
            "news": {
                wire.Watch: lambda peer, m: head.watchers.watch(peer, m),
                wire.Ask: lambda peer, m: head.questions.ask(peer, m),
            },
        }

    # ---- greetings

    def _hello(self, peer: Peer, hello: wire.Hello) -> None:
        """Somebody whom the door has let in."""
        peer.hello = hello
        if hello.role == "news":
            peer.role = "news"
            self._head.watchers.news_came(peer, self._head.jobs[hello.job])
            return
        peer.role = "driver"
        if self._head.nodes.detection is None:
            self._waiting_for_node.append(peer)
        else:
            self._welcome(peer)

    def objection(self, hello: wire.Hello) -> str:
        """Why this driver or news connection cannot be served; "": it can."""
        if self._head.stopping:
            return self._head.stopping
        if hello.version != wire.VERSION:
            return (
                f"This head runs nbaccel {__version__} with another protocol; install the same version on both sides."
            )
        if hello.role not in ("driver", "news"):
            return f"This head does not know the role {hello.role!r}."
        if hello.role == "news" and hello.job not in self._head.jobs:
            return f"There is no job {hello.job}."
        ours = "{}.{}".format(*sys.version_info)
        if hello.role == "driver" and hello.python != ours:
            return (
                f"This driver runs Python {hello.python}, but the head runs Python {ours}: functions cannot be "
                "exchanged between "
                f"the two. Start a head with this Python: {hello.prefix}/bin/python -m nbaccel start --head."
            )
        python = f"{hello.prefix}/bin/python"
        if hello.role == "driver" and hello.prefix != sys.prefix and not os.access(python, os.X_OK):
            return f"The workers of this driver would run {python}, which cannot be executed here."
        return ""

    def welcome_waiting(self) -> None:
        """The node is known now."""
        waiting, self._waiting_for_node = self._waiting_for_node, []
        for peer in waiting:
            if not peer.closed:
                self._welcome(peer)

    def _welcome(self, peer: Peer) -> None:
        assert peer.hello is not None
        job = self._head.new_job(peer, peer.hello) if peer.role == "driver" else None
        config = self._head.config
        welcome = wire.Welcome(
            peer.client_id,
            job.number if job else 0,
            os.getpid(),
            config.session,
            self._head.nodes.node_id,
            config.directory,
            job.namespace if job else "",
        )
        try:  # the arena's descriptor goes with the first bytes; an empty socket takes them whole
            socket.send_fds(peer.sock, [wire.frame([welcome])], [self._head.arena_fd])
        except OSError:
            pass  # the driver has gone; reading tells

    def _bye(self, peer: Peer, message: wire.Bye) -> None:
        job = self._head.jobs.get(peer.job)
        self._head.store.give_back()
        self._head.unread_errors.job_ends(peer.job)
        self._head.driver_gone(peer, "it was shut down")
        if message.stop_head:
            self._head.stop("it was shut down")
        elif job is not None and job.news is not None and not self._head.stopping:
            news = job.news
            self._head.outputs.drain(lambda: self._head.send(news, wire.LogsDrained()))

    # ---- tasks

    def _define_function(self, peer: Peer, message: wire.DefineFunction) -> None:
        self.functions.setdefault(message.key, message)
        self._functions_of.setdefault(peer.job, set()).add(message.key)

    def job_ended(self, job: int) -> None:
        """Forget the code that nobody runs any more: a head may outlive many drivers."""
        gone = self._functions_of.pop(job, set())
        gone.difference_update(*self._functions_of.values())
        for actor in self._head.actors.values():
            gone.difference_update(actor.terms.functions)  # one that outlives its job may be started again
        for key in gone:
            del self.functions[key]

    def _define_template(self, peer: Peer, message: wire.DefineTemplate) -> None:
        self._template_count += 1
        number = self._template_count
        terms = message.terms
        if (
            not 0 <= terms.returns <= MOST_RETURNS
        ):  # each is written down at the submission: the head would not come back
            raise ValueError(f"a template of {terms.returns} return values")
        job = self._head.jobs.get(peer.job)
        hello = job.hello if job else None
        peer.templates[message.number] = terms.of_job(
            peer.job,
            number,
            zygote=self._head.zygotes.key_for(hello.prefix, f"{hello.prefix}/bin/python") if hello else "",
            cell_in_words=self._cell(terms.cell, peer.job),
            refuse_infeasible=hello is not None and hello.infeasible == "raise",
        )
        self._head.environments.learn(terms.environment, terms.runtime_env)

    def _submit(self, peer: Peer, message: wire.Submit) -> None:
        terms = peer.templates[message.template]
        task_id = message.task_id
        objects = self._objects
        client_id = peer.client_id
        for index in range(terms.returns):
            objects.promise(return_id(task_id, index), client_id)
        missing: set[bytes] | None = None
        broken: tuple[bytes, wire.Value] | None = None
        if message.slots:
            for _place, id in message.slots:
                value, is_missing = self._argument(id)
                if is_missing or value is not None:
                    missing = missing or set()
                    missing.add(id)
                if value is not None:
                    broken = broken or (id, value)
                    self._head.unread_errors.read([id])
            objects.pin(id for _place, id in message.slots)
        if message.refs:
            objects.pin(message.refs)
        if message.actor_id and terms.kind is TaskKind.ACTOR_CALL:
            objects.pin((message.actor_id,))  # a call under way is a reason to live
        entry = TaskEntry(message, terms, client_id, time.time())
        task = Task(
            terms,
            task_id,
            entry,
            missing,
            message.actor_id or None,
            message.parent or None,
            client_id.to_bytes(8, "big"),
            peer.worker.worker_id if peer.worker is not None else None,
            entry.submitted_at,
            terms.max_retries or 0,
        )
        if terms.kind is TaskKind.ACTOR_CREATION:
            self._new_actor(peer, entry, task)
        self._head.handle(TaskSubmitted(task))
        if broken is not None and not entry.failed:
            self._head.orders.fail_for_argument(task, *broken)
            self._head.handle(ArgumentFailed(task_id, entry.error_type == CANCELLED))

    def submit_failed(self, peer: Peer, message: wire.Submit, error: Exception) -> None:
        """The head could not take it: whoever waits for the results is told."""
        terms = peer.templates.get(message.template)
        value = failures.failed(
            "RaySystemError",
            "The head could not take this task; `nbaccel doctor` shows the head's notes. Please report it.",
            task_id=message.task_id.hex(),
        )
        for index in range(terms.returns if terms is not None else 1):
            id = return_id(message.task_id, index)
            self._objects.promise(id, peer.client_id)
            self._head.delivery.fill(id, value, [], peer.client_id)

    def _argument(self, id: bytes) -> tuple[wire.Value | None, bool]:
        """(the error that it is, whether it is still to come) of an argument."""
        record = self._objects.records.get(id)
        if record is None:
            return failures.failed(
                "ObjectLostError", f"Object {id.hex()} does not exist any more: its last ref was released."
            ), False
        if record.value is None:
            return None, True
        return (record.value if record.value.status != wire.OK else None), False

    def _cell(self, cell: str, job_number: int) -> str:
        """The cell as sentences name it: with its notebook where the head serves several."""
        job = self._head.jobs.get(job_number)
        return f"{cell} of {job.name}" if cell and job is not None and self._head.config.shared else cell

    def _new_actor(self, peer: Peer, entry: TaskEntry, task: Task) -> None:
        actor_id, terms = entry.submit.actor_id, task.terms
        self._objects.actor_ids.add(actor_id)
        self._objects.promise(actor_id, peer.client_id)
        if terms.actor.detached:
            self._objects.pin((actor_id,))
        actor = ActorEntry(
            actor_id,
            terms,
            peer.client_id,
            peer.job,
            terms.actor.name,
            terms.actor.namespace,
            since=entry.submitted_at,
            creation=task,
        )
        self._head.actors[actor_id] = actor
        if terms.actor.name:
            self._head.questions.actor_came(actor_id)

    def _done(self, peer: Peer, message: wire.Done) -> None:
        worker = peer.worker
        for result in message.results:
            self._head.store.filled(result.value, peer.client_id)
        record = self._head.scheduler.task_record(message.task_id)
        if record is not None and not record.over and not message.fall_back:
            entry: TaskEntry = record.task.payload
            outcomes.note_done(entry, message, time.time())
            if message.failed and message.results and message.results[0].value.status == wire.FAILED:
                self._head.environments.failed(entry.terms.environment, message.note)
            if entry.started_at is None:
                entry.started_at = entry.times[0] if entry.times else worker.last_done_at
            worker.last_done_at = entry.finished_at
            if message.failed and entry.terms.kind is TaskKind.ACTOR_CREATION and message.results:
                self._head.orders.creation_failed(entry, message.results[0].value)
                self._head.unread_errors.constructor_failed(entry)
        else:
            self._drop(message.results)
        if message.exiting:
            self._head.handle(ActorKillAsked(worker_actor(peer), True, why=failures.ENDED_ITSELF))
        if record is not None and record.hold is not None and record.hold.parts:
            # Before the scheduler hears of it and gives the devices to the next.
            self._look_at_devices(worker, record, message)
        else:
            self._returned(worker, message, "")

    def _look_at_devices(self, worker: WorkerProcess, record: Any, message: wire.Done) -> None:
        """Are they still there, where the task failed? Does its process keep their memory?"""

        def returned(why: str) -> None:
            self._returned(worker, message, why)

        def judge() -> None:
            try:
                self._head.leftovers.judge(worker, record, message, returned)
            except Exception as error:  # the task has returned all the same, and its devices are to come free
                self._head.note(f"what {record.task.name} has left was not judged:\n{traceback.format_exc()}")
                returned(f"the head failed to see what it kept of its devices: {error}")

        if message.failed and record.hold is not None:
            self._head.devices.watch.after_failure(record.hold.place.node_id, record.hold.devices, judge)
        else:
            judge()

    def _returned(self, worker: WorkerProcess, message: wire.Done, retire: str) -> None:
        """The scheduler hears of it, with why the process must end before anybody else gets its devices."""
        fall_back = message.note if message.fall_back else ""
        record = self._head.scheduler.task_record(message.task_id)
        again = message.retry and record is not None and record.task.retries_left != 0
        cancelled = message.failed and message.note == "cancelled"
        event = TaskReturned(worker.worker_id, message.task_id, message.failed, again, fall_back, retire, cancelled)
        self._head.handle(event)

    def _drop(self, results: list[wire.Result]) -> None:
        """Results of a task that nobody waits for any more."""
        for result in results:
            if result.value.data is None:
                self._objects.freed.offsets.append(result.value.offset)

    def _item(self, peer: Peer, message: wire.Item) -> None:
        record = self._head.scheduler.task_record(message.task_id)
        value = message.result.value
        self._head.store.filled(value, peer.client_id)
        if record is None:
            self._drop([message.result])
            return
        entry: TaskEntry = record.task.payload
        if message.index < entry.items or entry.is_made_again:
            self._item_again(peer, entry, message)
            return
        entry.items = message.index + 1
        id = return_id(message.task_id, message.index + 1)
        if entry.client_id not in self._head.peers:
            self._drop([message.result])
            return
        self._objects.promise(id, entry.client_id)
        self._objects.fill(id, value, message.result.refs)
        if peer.worker is not None:
            self._head.lineage.placed(id, peer.worker.node_id)
        shown = value if value.data is not None else None
        self._head.send(self._head.peers[entry.client_id], wire.StreamItem(message.task_id, message.index, shown))

    def _item_again(self, peer: Peer, entry: TaskEntry, message: wire.Item) -> None:
        """The task runs again and its reader has this one: it is of use only where its value was lost."""
        if entry.terms.backpressure is not None:
            self._head.send(peer, wire.Consumed(message.task_id, entry.consumed))  # this process has not heard of it
        id = return_id(message.task_id, message.index + 1)
        record = self._objects.records.get(id)
        if record is None or record.value is not None:
            self._drop([message.result])
            return
        self._head.delivery.fill(id, message.result.value, message.result.refs, record.owner)
        if peer.worker is not None:
            self._head.lineage.placed(id, peer.worker.node_id)

    def _consumed(self, peer: Peer, message: wire.Consumed) -> None:
        """The reader of a stream tells its writer how far it is; -1: it has gone."""
        record = self._head.scheduler.task_record(message.task_id)
        if record is None:
            return
        entry: TaskEntry = record.task.payload
        entry.consumed = max(entry.consumed, message.count)
        worker = self._head.workers.by_id.get(entry.worker_id)
        if worker is not None and not worker.ended:
            if entry.terms.backpressure is not None or message.count < 0:
                self._head.send(worker.peer, message)
        elif message.count < 0:
            self._head.handle(CancelAsked(message.task_id))

    def _progress(self, peer: Peer, message: wire.Progress) -> None:
        record = self._head.scheduler.task_record(message.task_id)
        if record is not None:
            record.task.payload.progress = (message.done, message.total)
            self._head.watchers.changed()


def worker_actor(peer: Peer) -> bytes:
    """The actor that lives in this peer's worker."""
    return bytes(peer.worker.running_actor or b"")
