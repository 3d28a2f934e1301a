"""Puts the components of one head together: which component gets which others, and which is told of what.

Only this module knows all components. It passes on events that concern several of them: a driver leaves, say.
"""

from __future__ import annotations

import os
import socket
import time
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from nbaccel import accelerators
from nbaccel.accelerators.detection import DEADLINE_S
from nbaccel.leases import Leases
from nbaccel.local_engine import wire
from nbaccel.local_engine.head.actors import Actors
from nbaccel.local_engine.head.authentication import Handshake
from nbaccel.local_engine.head.autoscaling import Autoscaling
from nbaccel.local_engine.head.boot import Config
from nbaccel.local_engine.head.cluster_history import ClusterHistory
from nbaccel.local_engine.head.connections import (
    Connections,
    Failed,
    Handler,
    Handlers,
    MessageReceiver,
    Peer,
    QuestionTable,
    Together,
)
from nbaccel.local_engine.head.decisions import CommandHandlers, Decisions, Notify
from nbaccel.local_engine.head.devices.device_watch import (
    PATIENCE_S,
    DeviceInspections,
    DeviceWatch,
    ForeignMemory,
    IdleHolds,
    Recorded,
)
from nbaccel.local_engine.head.devices.node_devices import Key, Nodes, NodeSetup
from nbaccel.local_engine.head.devices.task_devices import DeviceLeases, Leftovers, TaskEnvironments
from nbaccel.local_engine.head.direct_calls import DirectCalls
from nbaccel.local_engine.head.groups import GroupAnswers, Groups
from nbaccel.local_engine.head.idle_compaction import IdleCompaction
from nbaccel.local_engine.head.objects import delivery, ledger, lineage
from nbaccel.local_engine.head.objects import requests as object_requests
from nbaccel.local_engine.head.objects.page_keeper import MachineMemory
from nbaccel.local_engine.head.objects.requests import GarbageRounds
from nbaccel.local_engine.head.objects.store import DelayedSends, Store
from nbaccel.local_engine.head.objects.tables import NOTHING_FREED, Freed, ObjectContext, ObjectTables
from nbaccel.local_engine.head.outcomes import UnreadErrors
from nbaccel.local_engine.head.outputs import BlockedPrints, Outputs, TaskLogs, WorkerLogs, answer_stack
from nbaccel.local_engine.head.poll import LoopTimers, Note, Notes, Poll, RetryUntilSuccess
from nbaccel.local_engine.head.records import Environments, HeadRecords, Job, Jobs, WorkerProcess, entry_of
from nbaccel.local_engine.head.side_process import Helpers, SideProcesses, Zygotes
from nbaccel.local_engine.head.state_views import StateViews
from nbaccel.local_engine.head.tasks.flow import Sending, TaskFlow, WorkerSetup
from nbaccel.local_engine.head.tasks.submissions import Arguments
from nbaccel.local_engine.head.watchers import Notifier, Observers, Watchers
from nbaccel.local_engine.head.worker_processes import OrphanedWork, SpoiledWorkers, WorkerLoads, WorkerProcesses
from nbaccel.local_engine.side_processes import prober
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire import failures
from nbaccel.scheduling import commands as do
from nbaccel.scheduling.commands import Command
from nbaccel.scheduling.events import (
    DeviceChanged,
    JobEnded,
    NodeFailed,
    NodeKept,
    SparesOutdated,
    TaskReturn,
    TasksGivenBack,
    TasksReturned,
)
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import Task, TaskKind
from nbaccel.views import observer_lines

if TYPE_CHECKING:
    from nbaccel.local_engine.head.records import TaskEntry
    from nbaccel.local_engine.head.tasks.flow import Conclusions


def _patience_s() -> float:
    """How long one measurement may take: longer where the user says that the drivers need longer to be found."""
    try:
        return PATIENCE_S * accelerators.usual_deadline_s(accelerators.RealMachine().environ) / DEADLINE_S
    except ValueError:
        return PATIENCE_S  # the head will not begin


class DeviceWiring:
    """Nodes, looks, watch, leases and setup of one head."""

    def __init__(
        self,
        timers: LoopTimers,
        helpers: Helpers,
        config: Config,
        notify: Notify,
        notifier: Notifier,
        note: Note,
        *,
        known: Callable[[], None],
        refuse: Callable[[str], None],
        warn: Callable[[str, str], None],
        is_stopping: Callable[[], bool],
        measured: Recorded,
    ) -> None:
        self._notify = notify
        self._notifier = notifier
        self._on_known = known
        self.nodes = Nodes(notify)
        self.prober = helpers.make("prober", "", decode=prober.decode_report, on_report=self._reported)
        self.prober.on_restart = self._prober_died
        self.looks = DeviceInspections(
            timers,
            self.prober,
            learned=lambda devices, metrics: self.watch.seen(devices, metrics),
            is_stopping=is_stopping,
            patience_s=_patience_s(),
        )
        held = Leases(title=config.title or "nbaccel", owner_pid=config.owner_pid)
        self.device_leases = DeviceLeases(timers, self.nodes, held, notify, notifier, note, offer=self.offer)
        self.watch = DeviceWatch(
            timers,
            self.nodes,
            self.prober,
            notifier,
            note,
            look=self.looks.look,
            look_at_leases=self.look_at_leases,
            offer=self.offer,
            recorded=measured,
        )
        self.setup = NodeSetup(
            timers,
            self.nodes,
            self.prober,
            config.options,
            note,
            arena_bytes=config.arena_bytes,
            known=self._known,
            refuse=refuse,
            warn=warn,
        )

    def offer(self, key: Key) -> None:
        """Tell the scheduler how much of a real device is available, and why the rest is not."""
        node_id, resource, index = key
        device = self.nodes.device(node_id, resource, index)
        lost = self.watch.lost.get(device.lease_key)
        if lost is not None:
            self._notify(DeviceChanged(node_id, resource, index, 0, f"lost: {lost}", True))
            return
        free, reason = self.device_leases.left(device)
        self._notify(DeviceChanged(node_id, resource, index, free, reason))

    def look_at_leases(self) -> None:
        """Check again what other heads hold of this machine's devices."""
        self.device_leases.begin(self.nodes.node_id)

    def _known(self) -> None:
        self.look_at_leases()
        self._on_known()
        if self.watch.wanted:
            self.watch.begin()

    # ---- messages of the prober

    def _reported(self, report: Any) -> None:
        if type(report) is prober.Measured:
            self.watch.measured(report)
        elif type(report) is prober.Inspected:
            self.looks.came(report)
        else:
            self.setup.found(report)
            self._notifier.changed()

    def _prober_died(self) -> None:
        """Tell the new prober what to do."""
        if self.nodes.detection is not None:
            self.watch.prober_died()
        else:
            self.setup.prober_died()


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


class HeadLife(Protocol):
    """The life of the head as a process, for components that affect it."""

    stopping: str  # why it ends; "" while it does not
    started_at: float

    def ready(self) -> None: ...
    def refuse_start(self, why: str) -> None: ...
    def stop(self, why: str) -> None: ...
    def worker_gone(self) -> None: ...


class Wiring:
    """All components of one head."""

    def __init__(
        self, life: HeadLife, config: Config, arena_fd: int, zygote: socket.socket, clock: Callable[[], float]
    ) -> None:
        self._life = life
        self._config = config
        self._clock = clock
        self.poll = Poll(clock)
        self.note = Notes()
        self.retry_until_success = RetryUntilSuccess(self.poll, self.note)
        self.connections = Connections(self.poll, self.note)
        self.peers, self.send = self.connections.peers, self.connections.send
        self.scheduler = Scheduler(new_id=lambda: os.urandom(28))
        self.compaction = IdleCompaction(self.poll, self.scheduler, self._records_that_go)
        self.decisions = Decisions(self.poll, self.scheduler, self._life, changed=self._changed, note=self.note)
        self.notify = self.decisions.notify
        self.jobs = Jobs(self._job_began)
        self.environments = Environments()
        self.objects = ObjectTables()
        self.questions = QuestionTable(
            self.send, lambda then: self.devices.watch.freshen(then), lambda then: self.outputs.drain(then)
        )
        self.arguments = Arguments(self.objects, self.poll, self._config.arena_bytes // 10)
        self.actors = Actors(
            self.scheduler,
            self.objects,
            self.notify,
            unpin=self.arguments.unpin,
            free_unheld=lambda: self.store.give_back(),
            settled=self.questions.ask_again,
            lived=lambda actor: self.history.lived(actor),
            lives=lambda actor: self.tasks.direct_calls.lives(actor),
        )
        self.watchers = Watchers(
            self.poll,
            self.scheduler,
            self.jobs.by_number,
            self.send,
            snapshot=lambda number, rows: self.snapshot_builder.snapshot(number, rows),
            measure=self._measure,
            send_line=lambda peer, line: self.observers.send_line(peer, line),
        )
        self._loads = WorkerLoads(self.poll, self.watchers.changed)
        self.history = ClusterHistory(self.scheduler, self.actors.by_id, lambda: self.nodes.lanes(), life.started_at)
        self._make_workers(arena_fd, zygote)
        self._make_objects()
        self._make_devices()
        self._make_views()
        self._make_tasks()
        self.handshake = Handshake(
            config,
            arena_fd,
            self.nodes,
            self.jobs,
            news_came=self.watchers.news_came,
            why_stopping=lambda: life.stopping,
        )
        self._connect()

    def _records_that_go(self) -> list[Callable[[], Callable[[], None]]]:
        return [self.history.let_go, partial(ledger.let_go, self.objects)]

    # ---- rooms

    def _make_workers(self, arena_fd: int, zygote: socket.socket) -> None:
        self.zygotes = Zygotes(
            self.poll,
            zygote,
            self.note,
            arena_fd=arena_fd,
            preload=self._config.preload,
            warn=self.warn_all,
            is_stopping=self._is_stopping,
            replaced=lambda: self.retry_until_success(lambda: self.notify(SparesOutdated())),
        )
        self.side_processes = SideProcesses(self.poll, self.zygotes.order, self.note, self._is_stopping)
        held = BlockedPrints(self.poll, self.scheduler, self.notify)
        self.outputs = Outputs(self.poll, self.side_processes, self._config.directory, held, self.watchers)
        self.workers = WorkerProcesses(
            self.poll,
            self.connections,
            self.zygotes,
            self.outputs,
            self.environments,
            self.scheduler,
            self.notify,
            self.retry_until_success,
            let_go=self._worker_gone,
            end_work=lambda worker, intended: self.orphaned_work.end(worker, intended),
            after_failure=lambda node_id, held, then: self.devices.watch.after_failure(node_id, held, then),
        )
        self.spoiled_workers = SpoiledWorkers(self.notify, self.note, self.watchers)

    def _make_objects(self) -> None:
        self.unread_errors = UnreadErrors(
            self.poll, self.scheduler, self.objects, self.workers.by_id, self.workers.endings, self.watchers
        )
        self.garbage = GarbageRounds(self.poll, self.peers, self.send)
        self.store = Store(
            self.poll,
            self.objects,
            self.side_processes,
            self.garbage,
            capacity=self._config.arena_bytes,
            directory=self._config.directory,
            let_go=self._let_go,
            memory=MachineMemory(),
            notify_driver=self.connections.notify_driver,
        )
        self.garbage.on_over = self.store.make_room
        self.object_context = ObjectContext(
            objects=self.objects,
            scheduler=self.scheduler,
            peers=self.peers,
            store=self.store,
            errors=self.unread_errors,
            send=self.send,
            notify=self.notify,
            clock=self._clock,
            arrived=lambda id, value: self.tasks.flow.conclusions.arrived(id, value),
            unpin=self.arguments.unpin,
            node_of=self._node_of,
        )

    def _make_devices(self) -> None:
        self.devices = DeviceWiring(
            self.poll,
            self.side_processes,
            self._config,
            self.notify,
            self.watchers,
            self.note,
            known=self._node_is_known,
            refuse=self._life.refuse_start,
            warn=self.warn_all,
            is_stopping=self._is_stopping,
            measured=self.history.measured,
        )
        self.nodes = self.devices.nodes
        self.growth = Autoscaling(
            self.poll,
            self.scheduler,
            self.nodes,
            self.object_context,
            self.notify,
            self._config.node_types,
            name_of_job=self._name_of_job,
        )

    def _make_views(self) -> None:
        self.groups: Groups[int] = Groups(
            self.scheduler,
            self.notify,
            lambda id, owner, value: delivery.fill(self.object_context, id, value, [], owner),
        )
        self.orphaned_work = OrphanedWork(
            self.scheduler, self.objects, self.notify, owner_died=lambda peer: self.groups.owner_died(peer.client_id)
        )
        self.foreign = ForeignMemory(
            self.nodes,
            self.scheduler,
            self.devices.looks.look,
            look_at_leases=self.devices.look_at_leases,
            is_ours=lambda pid: pid in self.workers.by_pid,
            clock=self._clock,
        )
        self.records = HeadRecords(
            self.scheduler,
            self.nodes,
            self.objects,
            self.environments,
            self.groups,
            self.actors.by_id,
            self.workers.by_id,
            self.jobs.by_number,
            self.peers,
            self._clock,
        )
        self.views = StateViews(
            self._config,
            self.records,
            self.send,
            pid_of=self.workers.pid_of,
            foreign=self.foreign,
            metrics=self.devices.watch.metrics,
            alerts=lambda: [*self.watchers.alerts, *self.idle_holds.alerts()],
            arena_used=lambda: self.store.arena.used,
            started_at=self._life.started_at,
            changed=self.watchers.changed,
            snapshot=lambda: self.snapshot_builder.snapshot(self.watchers.seq),
            growing=self.growth.shown(),
            load_of=self._loads.of,
        )
        self.snapshot_builder, self.published = self.views.snapshot_builder, self.views.published
        self._make_observers()

    def _make_observers(self) -> None:
        self.idle_holds = IdleHolds(
            self.poll,
            self.nodes.real,
            self.snapshot_builder.device_rows,
            self.devices.looks.look,
            self.watchers.changed,
        )
        self.observers = Observers(
            self.poll,
            self.connections,
            self.note,
            self._config.session,
            answer=self.questions.of_observer,
            freshen=self.devices.watch.freshen,
            watch=self.watchers.watch,
            send_snapshot=self.watchers.send_snapshot,
        )

    def _make_tasks(self) -> None:
        around = Around(
            timers=self.poll,
            config=self._config,
            connections=self.connections,
            records=self.records,
            notify=self.notify,
            retry_until_success=self.retry_until_success,
            note=self.note,
            notifier=self.watchers,
            objects=self.object_context,
            store=self.store,
            arguments=self.arguments,
            actors=self.actors,
            devices=self.devices,
            workers=self.workers,
            unread_errors=self.unread_errors,
            of_node=self.growth.virtual_nodes.environ,
            zygote_for=self.zygotes.key_for,
            act=lambda command: self.orders.act(command),
            history=self.history,
        )
        self.tasks = TaskWiring(around)
        self.orders = CommandHandlers(
            self._acts(),
            self.notify,
            self.retry_until_success,
            answer=self.tasks.failed_commands.answer,
            ready=self.tasks.flow.conclusions.ready,
        )
        self.decisions.carry_out = self.orders.carry_out

    # ---- who carries out what, and who hears whom

    def _acts(self) -> dict[type, Callable[[Any], None]]:
        workers = self.workers
        return {
            **self.tasks.acts(),
            do.StartWorker: workers.start,
            do.StopWorker: lambda c: workers.stop(c.worker_id, c.why, force=c.force),
            do.TrimWorker: lambda c: workers.notify(c.worker_id, wire.Trim()),
            do.ReleaseDevices: lambda c: self.devices.device_leases.release(c.worker_id),
            do.ActorChanged: self.actors.changed,
            do.GroupChanged: self.groups.changed,
            do.Warn: self.watchers.warned,
            do.CollectCycles: lambda command: self._work_waits(),
            do.WakeAt: self.decisions.wake_at,
            do.RequestNode: self.growth.source.ask,
            do.ReleaseNode: self.growth.source.release,
        }

    def _handlers(self) -> Handlers:
        """The messages of each role, with their handlers. A connection has the role "new" until it shows the token."""
        ask: dict[type, Handler] = {wire.QuestionMessage: self.questions.ask}
        both = {
            **object_requests.handlers(self.object_context),
            **self.tasks.flow.of_clients(),
            **self.actors.handlers(),
            **ask,
        }
        hello: dict[type, Handler] = {wire.WorkerHello: lambda peer, m: self.workers.introduced(peer.worker, m.pid)}
        return {
            "new": self.handshake.handlers(),
            "driver": {**both, wire.Bye: self._bye, **self.tasks.direct_calls.of_drivers()},
            "worker": {**both, **hello, **self.tasks.flow.of_workers(), **self.tasks.direct_calls.of_workers()},
            "news": {wire.Watch: self.watchers.watch, **ask},
        }

    def _connect(self) -> None:
        logs = WorkerLogs(self._config.directory, self._worker_of)
        task_logs = TaskLogs(
            self._config.directory, self.scheduler.task_record, self.history.tracebacks, self.workers.pid_of
        )
        self.questions.learn(
            object_requests.answers(self.object_context),
            self.actors.answers(),
            self.tasks.direct_calls.answers(),
            self.tasks.flow.submissions.answers(),
            GroupAnswers(self.groups, self.objects, self.jobs.by_number, lambda peer: peer.client_id).answers(),
            self.growth.answers(),
            self.spoiled_workers.answers(),
            self.views.answers(),
            self.history.answers(),
            task_logs.answers(),
            [
                self.garbage.answer(),
                observer_lines.Recycle.answered_by(lambda peer, asked: self.workers.recycle()),
                asks.ExpectImports.answered_by(lambda peer, asked: self.zygotes.expect(asked.modules)),
                observer_lines.ReadLogs.answered_by(lambda peer, asked: logs.tail(asked.task_id, asked.tail)),
                observer_lines.ReadStack.answered_by(lambda peer, asked: answer_stack(asked, self.workers.by_pid)),
                observer_lines.ReadNotes.answered_by(lambda peer, asked: list(self.note.lines)),
                observer_lines.StopHead.answered_by(lambda peer, asked: self._stop_soon()),
            ],
        )
        connections = self.connections
        failed: dict[type, Failed] = {
            wire.Submit: self.tasks.flow.submissions.failed,
            wire.QuestionMessage: self.questions.failed,
        }
        together = self.tasks.together()
        receiver = MessageReceiver(
            self._handlers(), together=together, failed=failed, expel=connections.expel, note=self.note
        )
        connections.receive = receiver.receive
        connections.on_end = self._peer_ended
        connections.on_written = {"news": self.watchers.news_written, "observer": self._observer_written}

    def _worker_of(self, id: bytes) -> bytes | None:
        """The worker of a task, by the id of the task, of its result, or of its actor."""
        actor = self.actors.by_id.get(id)
        record = self.scheduler.task_record(actor.creation.task_id if actor is not None else id[:24])
        return entry_of(record.task).worker_id if record is not None else None

    def _measure(self, on: bool) -> None:
        self.devices.watch.measure(on)
        self._loads.measure(on)

    def _stop_soon(self) -> None:
        self.poll.after(0, lambda: self._life.stop("it was told to stop"))

    def _observer_written(self, peer: Peer) -> None:
        self.observers.written(peer)
        self.watchers.caught_up(peer)

    def _is_stopping(self) -> bool:
        return bool(self._life.stopping)

    def _node_of(self, client_id: int) -> bytes:
        """The node of a client's process."""
        peer = self.peers.get(client_id)
        worker = peer.worker if peer is not None else None
        return bytes(worker.node_id) if worker is not None else self.nodes.node_id

    # ---- what concerns several

    def flush(self) -> None:
        """Write to every peer with waiting data, and free released ranges."""
        objects = self.objects
        if objects.unsure or objects.freed != NOTHING_FREED or self.store.waiting:
            self.store.collect()
        if self.connections.touched:
            self.connections.flush()

    def _changed(self) -> None:
        """Something may be different from the last snapshot."""
        if not self.compaction.has_stirred:
            self.compaction.stir()
        if self.watchers.watching:
            self.retry_until_success(self.watchers.changed)

    def _node_is_known(self) -> None:
        self._life.ready()
        self.foreign.look()  # be ready for the first question
        self.idle_holds.begin()
        self.growth.source.begin()

    def _name_of_job(self, number: int) -> str:
        job = self.jobs.by_number.get(number)
        return job.name if job is not None else ""

    def _job_began(self, job: Job) -> None:
        for problem in self.zygotes.preloading_problems():
            self.watchers.notice(job.number, wire.NoticeMessage("preload", problem))

    def warn_all(self, kind: str, message: str) -> None:
        for job in self.jobs.by_number.values():
            self.watchers.notice(job.number, wire.NoticeMessage(kind, message))

    def _bye(self, peer: Peer, message: wire.Bye) -> None:
        peer.left = True
        job = self.jobs.by_number.get(peer.job)
        self.store.give_back()
        self.unread_errors.job_ends(peer.job)
        self._driver_gone(peer, "it was shut down")
        if message.stop_head:
            self._life.stop("it was shut down")
        elif job is not None and job.news is not None and not self._life.stopping:
            news = job.news
            self.outputs.drain(lambda: self.send(news, wire.LogsDrained()))

    def _peer_ended(self, peer: Peer) -> None:
        if peer.role == "worker":
            self.retry_until_success(lambda: self.workers.ended(peer.worker))
        elif peer.role == "driver":
            self._driver_gone(peer, "its driver ended")
        else:
            self.watchers.gone(peer)
            self.observers.gone(peer)

    def _driver_gone(self, peer: Peer, why: str) -> None:
        """A driver left or died: end its tasks and release its refs. An embedded head ends with its only driver."""
        job = self.jobs.by_number.get(peer.job)
        if job is None or job.ended:
            return
        job.ended = True
        self.notify(JobEnded(job.number, why))
        self._client_gone(peer.client_id)
        object_requests.job_ended(self.object_context, job.number)
        self.actors.names.job_ended(job.number)
        if self.arguments.failed_calls is not None:
            self.arguments.failed_calls.job_ended(job.number)
        if self._config.driver_fd >= 0 and not self.jobs.has_driver():
            self._life.stop(why)

    def _work_waits(self) -> None:
        """Work waits for what actors hold: functions that are gone, and cycles, may have their last handles."""
        self.tasks.flow.functions.look()
        self.garbage.work_waits()

    def _client_gone(self, client_id: int) -> None:
        self.garbage.has_ended(client_id)
        self.store.client_gone(client_id)
        self.actors.names.client_gone(client_id)
        ledger.client_gone(self.objects, client_id)
        self.published.client_gone(client_id)
        self.growth.requests.client_gone(client_id)
        self.tasks.direct_calls.client_gone(client_id)
        self.tasks.flow.functions.client_gone(client_id)

    def _worker_gone(self, worker: WorkerProcess) -> None:
        if worker.peer is not None:
            if not worker.peer.closed:
                self.connections.drop(worker.peer)
            client_id = worker.peer.client_id
            self.retry_until_success(lambda: self._client_gone(client_id))
        self.tasks.leftovers.worker_gone(worker.worker_id)
        self._life.worker_gone()

    def _let_go(self, freed: Freed) -> None:
        """Release everything that belonged to objects without refs."""
        if freed.errors:
            self.unread_errors.gone(freed.errors)
        if freed.placed:
            lineage.forget(self.object_context, freed.placed)
        for actor_id in freed.actors:
            self.actors.out_of_scope(actor_id)
