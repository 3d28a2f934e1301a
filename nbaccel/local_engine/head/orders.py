"""From commands to acts: what the scheduler wants, done in order. Every act's answer comes back as an event."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from nbaccel.local_engine import wire
from nbaccel.local_engine.head import outcomes
from nbaccel.local_engine.head.objects.held_sends import HeldSends
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import CANCELLED, TaskEntry, WorkerProcess
from nbaccel.local_engine.head.unmet_orders import UnmetOrders
from nbaccel.local_engine.wire.ids import task_of
from nbaccel.scheduling import commands as do
from nbaccel.scheduling.events import ArgumentFailed, ArgumentsLost, ObjectsReady, TimePassed
from nbaccel.scheduling.terms import Task, TaskKind

if TYPE_CHECKING:
    from nbaccel.local_engine.head.loop import Head

_ACTOR_STATES = {"PENDING": "PENDING_CREATION"}


class Orders:
    """The head's hands."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._objects = head.objects
        self._ready: list[bytes] = []
        self._next_wake: float | None = None
        self._unmet = UnmetOrders(head, self)
        self.held = HeldSends(
            head.poll,
            head.objects,
            head.store.when_here,
            head.workers.by_id,
            transmit=self._transmit,
            answer=self._unmet.answer,
        )
        self._acts: dict[type, Callable[[Any], None]] = {
            do.SendTask: self._send_task,
            do.FinishTask: self._finish_task,
            do.StartWorker: lambda c: head.workers.start(c),
            do.StopWorker: lambda c: head.workers.stop(c.worker_id, c.why, force=c.force),
            do.RecallTasks: lambda c: self._tell(c.worker_id, wire.Recall()),
            do.InterruptTask: lambda c: self._tell(c.worker_id, wire.Interrupt(c.task_id)),
            do.ReleaseDevices: lambda c: head.devices.lending.release(c.worker_id),
            do.FailTask: self._fail_task,
            do.ActorChanged: self._actor_changed,
            do.GroupChanged: lambda c: head.questions.groups.changed(c),
            do.Warn: lambda c: head.watchers.warned(c),
            do.WakeAt: self._wake_at,
        }

    def carry_out(self, commands: Sequence[Any]) -> None:
        """Do all of them; then tell the scheduler of the objects that came into being on the way.

        Whatever one of them raises, the others are carried out, and it is answered (decision 0013).
        """
        acts = self._acts
        for command in commands:
            try:
                acts[type(command)](command)
            except Exception as error:
                self._unmet.answer(command, error)
        if self._ready:
            ready, self._ready = self._ready, []
            self._head.until_done(lambda: self._head.handle(ObjectsReady(ready)))
        self._head.until_done(self._head.watchers.changed)

    def act(self, command: Any) -> None:
        """Do one of them; what it raises is the caller's to answer."""
        self._acts[type(command)](command)

    def _tell(self, worker_id: bytes, message: Any) -> None:
        worker = self._head.workers.by_id.get(worker_id)
        if worker is not None and not worker.ended:
            self._head.send(worker.peer, message)

    def _wake_at(self, command: do.WakeAt) -> None:
        if self._next_wake is not None and self._next_wake <= command.at:
            return

        def wake() -> None:
            if self._next_wake == command.at:
                self._next_wake = None
            self._head.handle(TimePassed())

        self._head.poll.at(command.at, wake)
        self._next_wake = command.at  # only now: a later wish is left out where an earlier one stands

    # ---- sending

    def _send_task(self, command: do.SendTask) -> None:
        head, task = self._head, command.task
        worker = head.workers.by_id.get(command.worker_id)
        if worker is None or worker.ended:
            return  # it is dying: WorkerDied follows and the task is sent again
        if worker.node_id != command.node_id:  # a spare, which belongs to no node before it gets work
            worker.node_id, worker.setup_job = command.node_id, 0
        entry: TaskEntry = task.payload
        if head.lineage.active and task.kind is not TaskKind.ACTOR_CALL:
            missing = head.lineage.missing(entry.submit)
            if missing:
                head.handle(ArgumentsLost(task.task_id, missing))
                return
        if command.devices and not head.devices.lending.take(command):
            return
        if command.devices and head.leftovers.look_first(command, lambda: self._go_on(command)):
            return
        self._send_leased(command)

    def _go_on(self, command: do.SendTask) -> None:
        """The devices have been looked at: what is raised from here on is answered like anything of an order."""
        try:
            self._send_leased(command)
        except Exception as error:
            self._unmet.answer(command, error)

    def _send_leased(self, command: do.SendTask) -> None:
        worker = self._head.workers.by_id.get(command.worker_id)
        entry: TaskEntry = command.task.payload
        if worker is None or worker.ended:
            return
        if not self.held.holds_back(command, worker, entry):
            self._transmit(command, worker, entry)

    def _transmit(self, command: do.SendTask, worker: WorkerProcess, entry: TaskEntry) -> None:
        head, task, peer = self._head, command.task, worker.peer
        self._prepare(peer, worker, entry, task)
        slots = [
            (place, id, head.delivery.give(id, peer.client_id, worker.refused)) for place, id in entry.submit.slots
        ]
        worker.refused.clear()
        ids, told, environ = head.task_environments.of(command, entry)
        state = head.scheduler.task_record(task.task_id)
        attempt, why = (state.attempt, state.choice_why) if state is not None else (0, "")
        if task.kind is TaskKind.ACTOR_CREATION:
            worker.running_actor = task.actor_id or b""
            self._actor_placed(task, worker, command, ids)
        entry.worker_id, entry.node_id, entry.device_ids = worker.worker_id, command.node_id, ids
        entry.choice, entry.choice_why, entry.attempt = command.choice, why, attempt
        entry.started_at, entry.times = time.time() if command.first else None, []
        worker.used = True
        head.send(
            peer,
            wire.Run(
                task.task_id,
                entry.terms.number,
                entry.submit.args,
                slots,
                told,
                environ,
                attempt,
                command.choice,
                task.actor_id or b"",
                why,
            ),
        )

    def _prepare(self, peer: Peer, worker: WorkerProcess, entry: TaskEntry, task: Task) -> None:
        """Make sure that the worker knows its job, the template and the functions."""
        head, terms = self._head, entry.terms
        if worker.setup_job != task.job:
            self._set_up(peer, worker, task.job)
        if terms.number in peer.defined:
            return
        for key in terms.functions:
            if key not in peer.functions:
                peer.functions.add(key)
                peer.out.append(head.intake.functions[key])
        peer.defined.add(terms.number)
        peer.out.append(wire.DefineTemplate(terms.number, terms))

    def _set_up(self, peer: Peer, worker: WorkerProcess, job_number: int) -> None:
        head = self._head
        job = head.jobs[job_number]
        worker.setup_job = job_number
        peer.job = job_number
        hello = job.hello
        own = head.environments.variables(hello.runtime_env)
        of_node = head.questions.nodes.environ.get(worker.node_id, {})
        head.send(
            peer,
            wire.Setup(
                job_number,
                peer.client_id,
                job.namespace,
                hello.sys_path,
                hello.cwd,
                {**of_node, **own},
                head.config.session,
                worker.node_id,
                head.config.directory,
                hello.main_path,
                hello.runtime_env,
                leak_threshold=head.config.options.get("leak_threshold"),  # type: ignore[arg-type]
            ),
        )

    # ---- ends of tasks

    def _finish_task(self, command: do.FinishTask) -> None:
        entry: TaskEntry = command.task.payload
        results = entry.results
        if results is not None:
            self._write_results(command.task, entry, results)
        entry.results = None
        if self._head.lineage.active and results is not None and self._head.lineage.made(command.task, entry):
            return  # its arguments are kept for as long as it may have to run again
        self._let_go(entry, command.task)

    def conclude(self, task: Task, entry: TaskEntry, results: list[wire.Result]) -> None:
        """Writing the results was broken off: write those that are missing, and tell everybody of all."""
        self._write_results(task, entry, results)
        entry.results = None
        self._let_go(entry, task)

    def _write_results(self, task: Task, entry: TaskEntry, results: list[wire.Result]) -> None:
        terms = entry.terms
        if terms.returns == 0 and task.kind is not TaskKind.ACTOR_CREATION:
            self._head.unread_errors.tell(entry)
        streams = terms.returns and terms.num_returns == wire.STREAMING
        for index, (id, result) in enumerate(outcomes.objects_of(task, results)):
            self._write_result(id, index, entry, result)
        if streams:
            if not entry.is_made_again and not entry.stream_over:
                self._end_stream(task, entry, results)
            self._head.lineage.stream_ended(task.task_id, entry, results[0].value)

    def _write_result(self, id: bytes, index: int, entry: TaskEntry, result: wire.Result) -> None:
        """One result; of one that is there already everybody is told once more."""
        if index < entry.written:
            self._head.delivery.announce_again(id, entry.client_id)
        else:
            filled = self._objects.fill(id, result.value, result.refs)
            entry.written = index + 1
            self._head.delivery.filled(id, filled, result.value, entry.client_id)

    def _end_stream(self, task: Task, entry: TaskEntry, results: list[wire.Result]) -> None:
        """The stream's reader gets the error, if there was one, as the last item."""
        peer = self._head.peers.get(entry.client_id)
        if peer is None:
            return
        last = outcomes.last_item(task, entry.items, results)
        if last is not None:
            id, value = last
            self._objects.promise(id, entry.client_id)
            self._objects.fill(id, value, [])
            shown = value if value.data is not None else None
            self._head.send(peer, wire.StreamItem(task.task_id, entry.items, shown))
            entry.items += 1
        self._head.send(peer, wire.StreamEnd(task.task_id, entry.items))
        entry.stream_over = True

    def arrived(self, id: bytes, value: wire.Value) -> None:
        """Some live task has it as an argument: it may have waited for it."""
        if value.status == wire.OK:
            self._ready.append(id)
        else:
            self._fail_waiting(id, value)

    def _fail_waiting(self, id: bytes, value: wire.Value) -> None:
        """An argument failed: so do the tasks that wait for it, with the same error."""
        self._head.unread_errors.read([id])
        for task in self._head.scheduler.waiting_for(id):
            self.fail_for_argument(task, id, value)
            self._head.handle(ArgumentFailed(task.task_id, task.payload.error_type == CANCELLED))

    def fail_for_argument(self, task: Task, id: bytes, value: wire.Value) -> None:
        """Write an argument's error as the results of a task that never ran."""
        entry: TaskEntry = task.payload
        outcomes.note_failed_argument(entry, self._head.scheduler.task_record(task_of(id)), time.time())
        if task.kind is TaskKind.ACTOR_CREATION:
            self.creation_failed(entry, value)
            self._head.unread_errors.constructor_failed(entry)
        self._write_results(task, entry, outcomes.same_for_all(entry, value))
        self._let_go(entry, task)

    def _fail_task(self, command: do.FailTask) -> None:
        task, entry = command.task, command.task.payload
        outcomes.note_failure(entry, command, time.time())
        if task.kind is TaskKind.ACTOR_CREATION:
            self._head.unread_errors.constructor_failed(entry)
        actor = self._head.actors.get(command.actor_id or task.actor_id or b"")
        ending = self._head.workers.endings.get(entry.worker_id, outcomes.UNKNOWN_ENDING)
        value = outcomes.failure_value(command, actor, ending)
        self._write_results(task, entry, outcomes.same_for_all(entry, value))
        entry.results = None
        self._let_go(entry, task)

    def _let_go(self, entry: TaskEntry, task: Task) -> None:
        """The task is over: its arguments need no longer be held for it."""
        if not entry.pinned:
            return
        if task.kind is TaskKind.ACTOR_CREATION and task.terms.actor.max_restarts and not entry.failed:
            return  # a restart needs them again: let go when the actor dies
        self.unpin(entry, task)

    def unpin(self, entry: TaskEntry, task: Task) -> None:
        if not entry.pinned:
            return
        submit = entry.submit
        pinned = [*(id for _place, id in submit.slots), *submit.refs]
        if task.kind is TaskKind.ACTOR_CALL and submit.actor_id:
            pinned.append(submit.actor_id)
        self._objects.unpin_later(pinned)
        entry.pinned = False
        submit.args = b""

    # ---- actors

    def creation_failed(self, entry: TaskEntry, value: wire.Value) -> None:
        actor = self._head.actors.get(entry.submit.actor_id)
        if actor is not None:
            outcomes.note_failed_creation(actor, value)

    def _actor_placed(
        self, task: Task, worker: WorkerProcess, command: do.SendTask, ids: dict[str, list[str]] | None
    ) -> None:
        actor = self._head.actors.get(task.actor_id or b"")
        if actor is not None:
            actor.worker_id, actor.node_id, actor.device_ids = worker.worker_id, command.node_id, ids

    def _actor_changed(self, command: do.ActorChanged) -> None:
        actor = self._head.actors.get(command.actor_id)
        if actor is None:
            return
        actor.state = _ACTOR_STATES.get(command.state, command.state)
        actor.why = command.why
        if command.state == "RESTARTING":
            actor.restarts += 1
        elif command.state == "DEAD":
            self._actor_died(actor)

    def _actor_died(self, actor: Any) -> None:
        self.unpin(actor.creation.payload, actor.creation)
        self._head.questions.name_free(actor)
        actor.scope_ended = True
        dead = [other for other in self._head.actors.values() if other.state == "DEAD"]
        for old in dead[:-1_000]:  # the cockpit shows the latest; a program that makes millions must not fill the head
            del self._head.actors[old.actor_id]
