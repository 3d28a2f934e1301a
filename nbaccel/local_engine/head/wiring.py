"""Puts the components of one head together: which component gets which others, and which is told of what.

Only this module knows all components. It passes on events that concern several of them: a driver leaves, say.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

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
)
from nbaccel.local_engine.head.decisions import CommandHandlers, Decisions
from nbaccel.local_engine.head.devices.device_watch import ForeignMemory, IdleHolds
from nbaccel.local_engine.head.devices.device_wiring import DeviceWiring
from nbaccel.local_engine.head.groups import GroupAnswers, Groups
from nbaccel.local_engine.head.idle_compaction import IdleCompaction
from nbaccel.local_engine.head.objects import delivery, ledger, lineage
from nbaccel.local_engine.head.objects import requests as object_requests
from nbaccel.local_engine.head.objects.page_keeper import MachineMemory
from nbaccel.local_engine.head.objects.requests import GarbageRounds
from nbaccel.local_engine.head.objects.store import Store
from nbaccel.local_engine.head.objects.tables import NOTHING_FREED, Freed, ObjectContext, ObjectTables
from nbaccel.local_engine.head.outcomes import UnreadErrors
from nbaccel.local_engine.head.outputs import BlockedPrints, Outputs, TaskLogs, WorkerLogs, answer_stack
from nbaccel.local_engine.head.poll import Notes, Poll, RetryUntilSuccess
from nbaccel.local_engine.head.records import Environments, HeadRecords, Job, Jobs, WorkerProcess, entry_of
from nbaccel.local_engine.head.side_process import SideProcesses, Zygotes
from nbaccel.local_engine.head.state_views import StateViews
from nbaccel.local_engine.head.tasks.submissions import Arguments
from nbaccel.local_engine.head.tasks.task_wiring import Around, TaskWiring
from nbaccel.local_engine.head.watchers import Observers, Watchers
from nbaccel.local_engine.head.worker_processes import OrphanedWork, SpoiledWorkers, WorkerProcesses
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.scheduling import commands as do
from nbaccel.scheduling.events import JobEnded, SparesOutdated
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.views import observer_lines


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
            measure=lambda on: self.devices.watch.measure(on),
            send_line=lambda peer, line: self.observers.send_line(peer, line),
        )
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
            do.AskNode: self.growth.source.ask,
            do.ReleaseNode: self.growth.source.release,
        }

    def _handlers(self) -> Handlers:
        """The messages of each role, with their handlers. A connection has the role "new" until it shows the token."""
        ask: dict[type, Handler] = {wire.Ask: self.questions.ask}
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
        failed: dict[type, Failed] = {wire.Submit: self.tasks.flow.submissions.failed, wire.Ask: self.questions.failed}
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
