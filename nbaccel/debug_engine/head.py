"""The head's side: the local head's own components, put together without processes, devices' memory and an arena."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import asdict

from nbaccel import accelerators
from nbaccel.debug_engine.workers import DebugWorker
from nbaccel.handles.options import InitOptions
from nbaccel.local_engine import wire
from nbaccel.local_engine.driver.engine import hello
from nbaccel.local_engine.head.actors import Actors
from nbaccel.local_engine.head.boot import Config
from nbaccel.local_engine.head.cluster_history import ClusterHistory
from nbaccel.local_engine.head.connections import Handler, Peer, QuestionTable
from nbaccel.local_engine.head.devices.node_devices import Nodes, head_spec, offered_of
from nbaccel.local_engine.head.devices.task_devices import TaskEnvironments
from nbaccel.local_engine.head.groups import GroupAnswers, Groups
from nbaccel.local_engine.head.objects import delivery, ledger, requests
from nbaccel.local_engine.head.objects.tables import Grant, ObjectContext, ObjectTables
from nbaccel.local_engine.head.outputs import TaskLogs
from nbaccel.local_engine.head.records import Environments, HeadRecords, Jobs, TaskEntry
from nbaccel.local_engine.head.state_views import NobodyElse, StateViews
from nbaccel.local_engine.head.tasks.flow import TaskFlow
from nbaccel.local_engine.head.tasks.submissions import Arguments
from nbaccel.local_engine.head.worker_processes import OrphanedWork
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.scheduling import commands as do
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.views import observer_lines
from nbaccel.views.snapshot import Snapshot
from nbaccel.views.stack_text import StackAnswer

CLIENT = 1  # all code is one process, and so is all that it holds
NEVER_S = 1e9
MOST_ROWS = 100
PRINTED = "The debug engine runs tasks in the notebook's own process: what they print stands under their cells."


class DebugHead:
    """Hears the driver's side through `receive`, and speaks to it through `send`."""

    def __init__(self, options: InitOptions, send: Callable[[Peer, Any], None]) -> None:
        self._options = asdict(options)
        self._config = Config("debug", os.getcwd(), 0, self._options)
        self._send = send
        self.scheduler = Scheduler(
            new_id=lambda: os.urandom(28), spares=0, idle_worker_stop_s=NEVER_S, waiting_notice_s=NEVER_S
        )
        self.workers: dict[bytes, DebugWorker] = {}
        self.driver = peer_of(None)
        self._peers = {CLIENT: self.driver}
        self.driver.hello = hello("driver", "", options)
        self.jobs = Jobs(lambda job: None)
        self.job = self.jobs.begin(self.driver, self.driver.hello)
        self._commands: deque[do.Command] = deque()
        self._notifier = Terminal()
        self._make_objects()
        self._make_tasks()
        self.acts: dict[type, Callable[[Any], None]] = {
            do.FinishTasks: self.tasks.conclusions.finish,
            do.FailTask: self.tasks.conclusions.fail,
            do.ReleaseDevices: lambda command: None,
            do.ActorChanged: self.actors.changed,
            do.GroupChanged: self.groups.changed,
            do.Warn: lambda command: self._notifier.note(command.message),
        }  # the stage adds its own
        self._make_views()

    # ---- rooms

    def _make_objects(self) -> None:
        self.objects, self._absent = ObjectTables(), OneProcess()
        self._arguments = Arguments(self.objects)
        self.object_context = ObjectContext(
            objects=self.objects, scheduler=self.scheduler, peers=self._peers, store=self._absent, errors=self._absent,
            send=self._send, notify=self.notify, clock=time.monotonic, unpin=self._arguments.unpin,
            arrived=lambda id, value: self.tasks.conclusions.arrived(id, value),
            node_of=lambda client_id: self.nodes.node_id,
        )  # fmt: skip
        self.questions = QuestionTable(self._send)
        self.actors = Actors(
            self.scheduler, self.objects, self.notify, unpin=self._arguments.unpin, free_unheld=self.collect,
            settled=self.questions.ask_again, lived=lambda actor: self._history.lived(actor),
            lives=lambda actor: None,
        )  # fmt: skip
        self._history = ClusterHistory(self.scheduler, self.actors.by_id, lambda: self.nodes.lanes(), time.time())
        self.groups: Groups[int] = Groups(
            self.scheduler,
            self.notify,
            lambda id, _, value: delivery.fill(self.object_context, id, value, [], CLIENT),
        )

        self.orphaned_work = OrphanedWork(
            self.scheduler, self.objects, self.notify, owner_died=lambda peer: self.groups.owner_died(owner_of(peer))
        )

    def _make_tasks(self) -> None:
        environments, notifier, jobs = Environments(), self._notifier, self.jobs.by_number
        self.nodes = Nodes(self.notify)
        hide = bool(self._options["hide_unassigned"])
        self.devices = TaskEnvironments(self.nodes, environments, jobs, self.groups, notifier, hide=hide)
        self._records = HeadRecords(
            self.scheduler, self.nodes, self.objects, environments, self.groups, self.actors.by_id, self.workers, jobs,
            self._peers, time.monotonic,
        )  # fmt: skip
        self.tasks = TaskFlow(
            self._records, self.object_context, self._arguments, self.actors, self._absent, self._absent,
            self._send, self.notify, notifier.note, endings={}, zygote_for=lambda prefix, python: "",
            after_failure=lambda node_id, held, then: then(), changed=lambda: None, ended=self._history.ended,
            is_shared=False,
        )  # fmt: skip
        self._handlers: dict[type, Handler] = {
            **requests.handlers(self.object_context), **self.tasks.of_clients(), **self.tasks.of_workers(),
            **self.actors.handlers(), wire.Ask: self.questions.ask,
        }  # fmt: skip

    def _make_views(self) -> None:
        views = StateViews(
            self._config, self._records, self._send, pid_of=lambda worker_id: os.getpid(), foreign=NobodyElse(),
            metrics={}, alerts=list, arena_used=lambda: 0, started_at=time.time(), changed=lambda: None,
            snapshot=self._snapshot,
        )  # fmt: skip
        self.snapshot_builder = views.snapshot_builder
        self.questions.learn(
            requests.answers(self.object_context),
            self.actors.answers(),
            self.tasks.submissions.answers(),
            GroupAnswers(self.groups, self.objects, self.jobs.by_number, owner_of).answers(),
            views.answers(),
            self._history.answers(),
            TaskLogs(
                None, self.scheduler.task_record, self._history.tracebacks, lambda worker_id: os.getpid(), PRINTED
            ).answers(),
            [
                observer_lines.Recycle.answered_by(lambda peer, asked: 0),
                asks.ExpectImports.answered_by(lambda peer, asked: None),
                asks.RequestResources.answered_by(lambda peer, asked: False),
                asks.HoldResources.answered_by(lambda peer, asked: False),
                asks.ForecastGrowth.answered_by(lambda peer, asked: None),
                observer_lines.ReadLogs.answered_by(lambda peer, asked: ""),
                observer_lines.ReadStack.answered_by(lambda peer, asked: StackAnswer()),
            ],
        )

    def begin(self) -> None:
        """The node joins. Raises ValueError for what this machine cannot offer."""
        machine, options = accelerators.RealMachine(), self._options
        vendor, simulate = options["gpu_vendor"], options["simulate"]
        self.nodes.detection = accelerators.detect(machine, gpu_vendor=vendor, simulate=simulate)
        offered = offered_of(self.nodes.detection, options, machine.environ)
        self.nodes.add(head_spec(self.nodes, offered, options, 0), offered)

    # ---- what is heard and told

    def receive(self, peer: Peer, message: Any) -> None:
        """A driver or a worker says something."""
        self._handlers[type(message)](peer, message)
        self.collect()

    def collect(self) -> None:
        """Let go of what nobody holds any more, and of what hung on it."""
        self.tasks.functions.look_soon()
        while (freed := ledger.take_freed(self.objects)) is not None:
            for actor_id in freed.actors:
                self.actors.out_of_scope(actor_id)

    def notify(self, event: ev.Event) -> None:
        """Tell the scheduler what happened, and do all that follows from it, also what the code that runs brings about.

        Unlike the local head's: what a running task submits has run before this returns.
        """
        self._commands.extend(self.scheduler.handle(event, time.monotonic()))
        while self._commands or self._take_ready():
            command = self._commands.popleft()
            self.acts[type(command)](command)

    def _take_ready(self) -> bool:
        """Tell the scheduler which arguments have come; whether it orders something."""
        ready = self.tasks.conclusions.ready
        if ready:
            event = ev.ObjectsReady(ready.copy())
            ready.clear()
            self._commands.extend(self.scheduler.handle(event, time.monotonic()))
        return bool(self._commands)

    def _snapshot(self) -> Snapshot:
        snapshot = self.snapshot_builder.snapshot(0, MOST_ROWS)
        snapshot.runtime.engine = snapshot.runtime.address = "debug"
        snapshot.runtime.log_dir = ""
        return snapshot


class OneProcess:
    """What rooms would do that this head has not: no arena, no process that ends, no errors told that nobody reads."""

    times_given_back = 0

    def filled(self, value: wire.Value, client: int) -> None: ...
    def give_up(self, offset: int, client: int, request: int) -> None: ...
    def allocate(self, client: int, request: int, size: int, answer: Grant) -> None:
        answer(-1, "The debug engine has no object store.")

    def when_here(self, id: bytes, client_id: int, here: Callable[[], None], refused: object) -> None:
        here()

    def read(self, ids: Iterable[bytes]) -> None: ...
    def gone(self, ids: list[bytes]) -> None: ...
    def notify(self, entry: TaskEntry) -> None: ...
    def constructor_failed(self, entry: TaskEntry) -> None: ...

    def judge(self, worker: Any, record: Any, done: wire.Done, then: Callable[[str], None]) -> None:
        then("")


class Terminal:
    """What the head has to say goes to this process's own stderr."""

    def note(self, text: str) -> None:
        if text:
            sys.stderr.write(f"nbaccel: {text}\n")

    def notice(self, job_number: int, message: wire.NoticeMessage) -> None:
        self.note(message.message)

    def alert(self, kind: str, message: str, **where: Any) -> None:
        self.note(message)

    def changed(self) -> None: ...


def peer_of(worker: DebugWorker | None) -> Peer:
    """The far end of a driver or worker that is this very process."""
    sock = socket.socket(socket.AF_UNIX)
    peer = Peer(sock, "driver" if worker is None else "worker", CLIENT)
    sock.close()
    peer.worker, peer.job = worker, 1
    return peer


def owner_of(peer: Peer) -> int:
    """Who asked when a placement group is ready: a number for each worker, 0 for the driver."""
    return 0 if peer.worker is None else int.from_bytes(peer.worker.worker_id)
