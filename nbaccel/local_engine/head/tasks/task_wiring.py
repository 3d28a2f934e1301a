"""The tasks' room put together; and what follows when an order about a task cannot be carried out.

Answers orders that could not be carried out, so that nobody waits and no resource stays taken.
```
  the act raised ── SendTasks ─────────► its task has returned with an error; sent ahead of time: it is given back
                 ├─ StartWorker ───────► the worker has died
                 ├─ StopWorker ────────► its process is killed, at once and again until it is gone
                 ├─ FinishTasks, FailTask ► once more; what cannot be written becomes an error
                 ├─ ReleaseDevices, ActorChanged, GroupChanged, WakeAt ► once more
                 ├─ RequestNode, ReleaseNode ► the node does not come, or stays
                 └─ RecallTasks ───────► the worker gives nothing back
```
An act that is repeated skips the steps that its first try has finished. Interrupts and warnings need no answer: they
are noted, and the scheduler kills a worker that ignores an interrupt.

The scheduler has booked each order, and learns from events alone. An order without an answer would therefore keep a
task running, and its resources taken, for as long as the head lives.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.actors import Actors
from nbaccel.local_engine.head.boot import Config
from nbaccel.local_engine.head.cluster_history import ClusterHistory
from nbaccel.local_engine.head.connections import Connections, Together
from nbaccel.local_engine.head.decisions import Notify
from nbaccel.local_engine.head.devices.device_wiring import DeviceWiring
from nbaccel.local_engine.head.devices.task_devices import Leftovers, TaskEnvironments
from nbaccel.local_engine.head.direct_calls import DirectCalls
from nbaccel.local_engine.head.objects.store import DelayedSends, Store
from nbaccel.local_engine.head.objects.tables import ObjectContext
from nbaccel.local_engine.head.outcomes import UnreadErrors
from nbaccel.local_engine.head.poll import LoopTimers, Note, RetryUntilSuccess
from nbaccel.local_engine.head.records import HeadRecords, entry_of
from nbaccel.local_engine.head.tasks.flow import TaskFlow
from nbaccel.local_engine.head.tasks.sending import Sending, WorkerSetup
from nbaccel.local_engine.head.tasks.submissions import Arguments
from nbaccel.local_engine.head.watchers import Notifier
from nbaccel.local_engine.head.worker_processes import WorkerProcesses
from nbaccel.local_engine.wire import failures
from nbaccel.scheduling import commands as do
from nbaccel.scheduling.commands import Command
from nbaccel.scheduling.events import NodeFailed, NodeKept, TaskReturn, TasksGivenBack, TasksReturned
from nbaccel.scheduling.terms import Task, TaskKind

if TYPE_CHECKING:
    from nbaccel.local_engine.head.records import TaskEntry
    from nbaccel.local_engine.head.tasks.flow import Conclusions


class FailedCommands:
    """Turns a failed order into the event that the scheduler expects."""

    def __init__(
        self,
        workers: WorkerProcesses,
        actors: Actors,
        conclusions: Conclusions,
        notify: Notify,
        retry_until_success: RetryUntilSuccess,
        note: Note,
        *,
        act: Callable[[do.Command], None],
        forget: Callable[[do.SendTasks], None],
    ) -> None:
        self._actors = actors
        self._conclusions = conclusions
        self._notify = notify
        self._retry = retry_until_success
        self._note = note
        self._act = act  # carries out a command; may raise an error
        self._forget = forget  # drops a task that waits for its arguments before it is sent
        self._answers: dict[type, Callable[[Any, str], None]] = {
            do.SendTasks: self._not_sent,
            do.StartWorker: lambda c, why: workers.cannot_start(c.worker_id, f"could not be started: {why}"),
            do.StopWorker: lambda c, why: workers.kill(c.worker_id, c.why),
            do.FinishTasks: self._not_concluded,
            do.FailTask: self._not_concluded,
            do.RecallTasks: lambda c, why: notify(TasksGivenBack(c.worker_id, [])),
            do.ReleaseDevices: self._once_more,
            do.ActorChanged: self._once_more,
            do.GroupChanged: self._once_more,
            do.WakeAt: self._once_more,
            do.RequestNode: lambda c, why: notify(NodeFailed(c.launch, f"the head could not get it: {why}")),
            do.ReleaseNode: lambda c, why: notify(NodeKept(c.node_id, f"the head could not remove it: {why}")),
        }

    def answer(self, command: do.Command, error: Exception) -> None:
        """Answer a failed order; called where the exception is caught."""
        answer = self._answers.get(type(command))
        if answer is not None:
            self._retry(lambda: answer(command, _in_words(error)))
        self._note(f"an order failed: {type(command).__name__}:\n{traceback.format_exc()}")

    def _once_more(self, command: do.Command, why: str) -> None:
        self._act(command)

    def _not_sent(self, command: do.SendTasks, why: str) -> None:
        """Answer an order that failed: the worker has not got the tasks, because sending them is the last step."""
        for one in command.each():
            self._one_not_sent(one, why)

    def _one_not_sent(self, command: do.SendTasks, why: str) -> None:
        task = command.task
        self._forget(command)
        if task.kind is TaskKind.TASK and not command.first:
            self._notify(TasksGivenBack(command.worker_id, [task.task_id]))
            return
        entry = entry_of(task)
        value = _failed(task, f"{task.name} could not be started, because the head failed to send it: {why}")
        entry.results = [wire.ReturnValue(value)] * max(entry.terms.returns, 1)
        self._has_failed(entry, f"the head failed to send it: {why}")
        if task.kind is TaskKind.ACTOR_CREATION:
            self._actors.creation_failed(entry, value)
        retire = f"the head failed to send it {task.name}"
        self._notify(TasksReturned(command.worker_id, [TaskReturn(task.task_id, failed=True, retire=retire)]))

    def _not_concluded(self, command: do.FinishTasks | do.FailTask, why: str) -> None:
        """Write the results again from where writing stopped; a result that cannot be written becomes an error."""
        for one in command.each() if type(command) is do.FinishTasks else [command]:
            self._one_not_concluded(one, why)

    def _one_not_concluded(self, command: do.FinishTasks | do.FailTask, why: str) -> None:
        try:
            self._act(command)
        except Exception:
            task = command.tasks[0] if isinstance(command, do.FinishTasks) else command.task
            entry = entry_of(task)
            said = f"{command.message} " if type(command) is do.FailTask else ""
            value = _failed(task, f"{said}The head failed to write the result of {task.name}: {why}")
            self._has_failed(entry, f"the head failed to write its result: {why}")
            self._conclusions.conclude(task, entry, [wire.ReturnValue(value)] * max(entry.terms.returns, 1))

    def _has_failed(self, entry: TaskEntry, note: str) -> None:
        entry.failed, entry.note = True, note
        entry.error_type = entry.error_type or "WORKER_DIED"
        entry.finished_at = time.time()


def _failed(task: Task, message: str) -> wire.Value:
    advice = "`nbaccel doctor` shows the head's notes. Please report it."
    return failures.failed("RaySystemError", f"{message}. {advice}", task_id=task.task_id.hex())


def _in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


class Around(Struct, frozen=True, kw_only=True):
    """What the head has beside the tasks' room, as far as tasks need it."""

    timers: LoopTimers
    config: Config
    connections: Connections
    records: HeadRecords
    notify: Notify
    retry_until_success: RetryUntilSuccess
    note: Note
    notifier: Notifier
    objects: ObjectContext
    store: Store
    arguments: Arguments
    actors: Actors
    devices: DeviceWiring
    workers: WorkerProcesses
    unread_errors: UnreadErrors
    of_node: Mapping[bytes, dict[str, str]]
    zygote_for: Callable[[str, str], str]
    act: Callable[[Command], None]
    history: ClusterHistory


class TaskWiring:
    """Everything that one head has for tasks. Each part is given those that are made before it."""

    def __init__(self, around: Around) -> None:
        devices, config, notifier = around.devices, around.config, around.notifier
        self.leftovers = Leftovers(
            devices.nodes, devices.looks.look, around.records.scheduler, notifier, config.leak_threshold
        )
        self.flow = TaskFlow(
            around.records,
            around.objects,
            around.arguments,
            around.actors,
            around.unread_errors,
            self.leftovers,
            around.connections.send,
            around.notify,
            around.note,
            endings=around.workers.endings,
            zygote_for=around.zygote_for,
            after_failure=devices.watch.after_failure,
            changed=notifier.changed,
            ended=around.history.ended,
            is_shared=config.shared,
            timers=around.timers,
        )
        self.failed_commands = FailedCommands(
            around.workers,
            around.actors,
            self.flow.conclusions,
            around.notify,
            around.retry_until_success,
            around.note,
            act=around.act,
            forget=lambda command: self.sending.held.forget(command),
        )
        self.sending = self._sending(around)
        self.flow.conclusions.answer = self.failed_commands.answer
        self._notify_worker = around.workers.notify
        self.direct_calls = self._direct_calls(around)

    def together(self) -> dict[str, dict[type, Together]]:
        """Of each role the messages that are handled together: how many of them, and by what."""
        return self.flow.together()

    def acts(self) -> dict[type, Callable[[Any], None]]:
        """The scheduler's orders about tasks, with what carries them out."""
        return {
            do.SendTasks: self.sending.send,
            do.FinishTasks: self.flow.conclusions.finish,
            do.FailTask: self.flow.conclusions.fail,
            do.RecallTasks: lambda c: self._notify_worker(c.worker_id, wire.Recall()),
            do.InterruptTask: lambda c: self._notify_worker(c.worker_id, wire.Interrupt(c.task_id)),
        }

    def _direct_calls(self, around: Around) -> DirectCalls:
        return DirectCalls(
            around.records,
            around.arguments,
            around.unread_errors,
            around.connections.send,
            around.notify,
            around.history,
        )

    def _sending(self, around: Around) -> Sending:
        config, records, devices, send = around.config, around.records, around.devices, around.connections.send
        jobs, environments, processes, answer = (
            records.jobs,
            records.environments,
            records.workers,
            self.failed_commands.answer,
        )
        store, hide = around.store, bool(config.options.get("hide_unassigned"))
        return Sending(
            records.scheduler,
            processes,
            WorkerSetup(config, jobs, environments, send, around.of_node),
            self.flow.functions,
            around.objects,
            around.actors,
            device_leases=devices.device_leases,
            leftovers=self.leftovers,
            devices=TaskEnvironments(devices.nodes, environments, jobs, records.groups, around.notifier, hide=hide),
            send=send,
            notify=around.notify,
            answer=answer,
            hold=lambda transmit: DelayedSends(
                around.timers, records.objects, store.when_here, processes, transmit=transmit, answer=answer
            ),
        )
