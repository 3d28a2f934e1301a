"""Starting, watching and ending worker processes. A worker is dead when it is reaped and its last words are read.

Ends the work of a process that died: its actors, and its tasks whose results nobody else can see.

A process that is killed or crashes no longer needs the results that it requested. A task goes on if another process has
a ref to its result. As in Ray, an actor ends with the process that created it, even if others have a handle; a detached
actor lives on. A worker that ends normally (it was idle, or had finished its accelerator task) ends no other work.
"""

from __future__ import annotations

import fcntl
import os
import resource
import socket
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from nbaccel import proc
from nbaccel.local_engine import process, wire
from nbaccel.local_engine.head.connections import Connections, Peer
from nbaccel.local_engine.head.decisions import Notify
from nbaccel.local_engine.head.devices.node_devices import Assigned
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.outcomes import WorkerEnding
from nbaccel.local_engine.head.poll import LoopTimers, RetryUntilSuccess
from nbaccel.local_engine.head.records import Environments, WorkerProcess
from nbaccel.local_engine.head.side_process import Zygotes
from nbaccel.local_engine.side_processes.zygote import Order
from nbaccel.local_engine.wire.driver_questions import ProcessChanged
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling.commands import StartWorker
from nbaccel.scheduling.events import ActorKillRequested, CancelRequested, WorkerDied, WorkerReady, WorkerSpoiled
from nbaccel.scheduling.scheduler import Scheduler

if TYPE_CHECKING:
    from nbaccel.local_engine.head.objects.tables import ObjectTables
    from nbaccel.local_engine.head.poll import Note
    from nbaccel.local_engine.head.watchers import Notifier
    from nbaccel.scheduling.tasks import TaskRecord
    from nbaccel.views.observer_lines import Row

MOST_NOTIFIED = 1_000


class SpoiledWorkers:
    """Ends them; says so once for each function and deed."""

    def __init__(self, notify: Notify, note: Note, notifier: Notifier) -> None:
        self._notify = notify
        self._note = note
        self._notifier = notifier
        self._notified: set[tuple[int, str, str]] = set()

    def answers(self) -> list[Row[Peer]]:
        """What workers say of themselves."""
        return [ProcessChanged.answered_by(self.came)]

    def came(self, peer: Peer, said: ProcessChanged) -> None:
        """A worker says of itself which task has done what, what to do about it, and where it was submitted."""
        name, why = said.name, said.why
        worker = peer.worker
        if worker is None:
            return  # a driver, which the head must not end
        self._notify(WorkerSpoiled(worker.worker_id, f"{name} has {why}"))
        notified = (worker.setup_job, name, why)
        if notified in self._notified:
            return
        if len(self._notified) >= MOST_NOTIFIED:
            self._notified.clear()
        self._notified.add(notified)
        words = (
            f"{name} has {why}. Its process (pid {worker.pid}) is replaced, so that later tasks do not fail. "
            f"{said.advice}"
        )
        self._note(words)
        self._notifier.notice(worker.setup_job, wire.NoticeMessage("process", words, said.cell, said.parent))


OWNER_DIED = "its owner has died: the process that created it ended"


class OrphanedWork:
    """Ends the work of dead workers."""

    def __init__(
        self, scheduler: Scheduler, objects: ObjectTables, notify: Notify, *, owner_died: Callable[[Peer], None]
    ) -> None:
        self._scheduler = scheduler
        self._objects = objects
        self._notify = notify
        self._owner_died = owner_died  # called with the peer that waits for placement groups no more

    def end(self, worker: WorkerProcess, intended: bool) -> None:
        """End the work that this dead worker had submitted, if it dies with it. Its refs are released already."""
        worker_id = worker.worker_id
        if not self._dies_with_its_work(worker_id, intended):
            return
        if worker.peer is not None:
            self._owner_died(worker.peer)
        unfinished = list(self._scheduler.unfinished_tasks_of(worker_id))
        for record in reversed(unfinished):  # the last first: it holds arguments
            if not record.over and not self._is_wanted(record):
                self._notify(CancelRequested(record.task.task_id))
        for actor in list(self._scheduler.living_actors_of(worker_id)):
            if not actor.terms.detached:
                self._notify(ActorKillRequested(actor.actor_id, why=OWNER_DIED))

    def _is_wanted(self, record: TaskRecord) -> bool:
        """Whether another process, or other work, has a ref to one of its results."""
        objects = self._objects
        ids = (return_id(record.task.task_id, index) for index in range(max(1, record.task.terms.returns)))
        return any(id in objects.records and ledger.is_held(objects, objects.records[id]) for id in ids)

    def _dies_with_its_work(self, worker_id: bytes, intended: bool) -> bool:
        """Whether the worker's work dies with it. It does not if the worker was stopped because nobody needed it."""
        record = self._scheduler.worker_record(worker_id)
        return not intended or (record is not None and (record.killed or record.actor is not None))


EXIT_PATIENCE_S = 1.0  # between asking a process to leave and killing it
GOODBYE_PATIENCE_S = 30.0  # the same for an actor, which may run user code when it ends
START_PAUSE_S = 0.2  # before the next try when descriptors are short: dying processes free some
_MOST_ENDINGS = 1_000
_DESCRIPTORS_TO_START = 16  # two sockets, two pipes, the copies sent to the zygote, and a reserve


class Pipes(Protocol):
    """Who reads what workers print."""

    def open(self, worker: WorkerProcess) -> tuple[int, int]: ...
    def last_lines(self, worker: WorkerProcess) -> str: ...


class WorkerProcesses:
    """All worker processes of a head.

    Of a dead one `let_go` and `end_work` are called, with whether its end was intended; then the scheduler is told.
    """

    def __init__(
        self,
        timers: LoopTimers,
        connections: Connections,
        zygotes: Zygotes,
        pipes: Pipes,
        environments: Environments,
        scheduler: Scheduler,
        notify: Notify,
        retry_until_success: RetryUntilSuccess,
        *,
        let_go: Callable[[WorkerProcess], None],
        end_work: Callable[[WorkerProcess, bool], None],
        after_failure: Callable[[bytes, Assigned, Callable[[], None]], None],
    ) -> None:
        self._timers = timers
        self._connections = connections
        self._zygotes = zygotes
        self._pipes = pipes
        self._environments = environments
        self._scheduler = scheduler
        self._notify = notify
        self._retry = retry_until_success
        self._let_go = let_go
        self._end_work = end_work
        self._after_failure = after_failure  # checks the devices that a crashed worker held
        self.by_id: dict[bytes, WorkerProcess] = {}
        self.by_pid: dict[int, WorkerProcess] = {}
        self._unclaimed: dict[int, tuple[int, float]] = {}  # pid -> (status, time) of an unknown child
        # Sessions and ids of ended workers: processes that they have left are killed.
        self._sessions: deque[int] = deque(maxlen=100)
        self._dead_ids: deque[str] = deque(maxlen=100)
        self.endings: dict[bytes, WorkerEnding] = {}  # how each dead worker ended

    def pid_of(self, worker_id: bytes) -> int | None:
        """The process of a worker; None before it has come up, and when it is gone."""
        worker = self.by_id.get(worker_id)
        return worker.pid if worker is not None else None

    def start(self, command: StartWorker) -> None:
        worker = WorkerProcess(command.worker_id, command.node_id, None, command.pool)
        self.by_id[command.worker_id] = worker
        self._try_to_order(worker)

    def _try_to_order(self, worker: WorkerProcess) -> None:
        try:
            _check_descriptors()
        except OSError as error:
            limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            why = f"could not be started: {error.strerror} (the head may have {limit}: raise `ulimit -n`)"
            self.cannot_start(worker.worker_id, why)
        else:
            self._order(worker)

    def cannot_start(self, worker_id: bytes, why: str) -> None:
        """It dies after a pause, so that whoever is started in its place is not started at once."""
        worker = self.by_id.get(worker_id)
        if worker is not None and worker.peer is not None:
            self._connections.drop(worker.peer)  # if its process still starts, it finds no connection and exits
        self._timers.after(START_PAUSE_S, lambda: self._retry(lambda: self._never_started(worker_id, why)))

    def _never_started(self, worker_id: bytes, why: str) -> None:
        worker = self.by_id.get(worker_id)
        if worker is not None:
            self._dead(worker, why)
        else:
            self._notify(WorkerDied(worker_id, why))

    def _order(self, worker: WorkerProcess) -> None:
        """Have its process forked; again, with new connections, when the zygote died before it came to that."""
        ours, theirs = socket.socketpair()
        with theirs:
            worker.peer = self._connect(worker, ours)
            _enlarge(ours)
            _enlarge(theirs)
            out_write, err_write = self._pipes.open(worker)
            try:
                self._fork(worker, [theirs.fileno(), out_write, err_write])
            finally:
                os.close(out_write)
                os.close(err_write)

    def _connect(self, worker: WorkerProcess, sock: socket.socket) -> Peer:
        with ExitStack() as undo:
            undo.enter_context(sock)
            peer = Peer(sock, "worker", self._connections.next_client_id())
            peer.worker = worker
            undo.pop_all()
        return peer

    def _fork(self, worker: WorkerProcess, fds: list[int]) -> None:
        zygotes, pool = self._zygotes, worker.pool
        order = Order("worker", worker.worker_id, argument=pool.zygote if pool else "")
        worker.zygote, worker.generation = order.argument, zygotes.generation.get(order.argument, 0)
        if pool is not None and pool.how == "exec":
            order.how = "exec"
            order.env_vars, order.environment = self._environments.for_exec(pool.environment)
        self._connections.add(worker.peer)
        zygotes.order(order, fds)

    def introduced(self, worker: WorkerProcess, pid: int) -> None:
        """WorkerHello came. Raises ValueError for a pid that is not the worker's: the head will send it signals."""
        if worker.pid is not None or pid in self.by_pid:
            raise ValueError(f"process {pid} has introduced itself before")
        if pid not in self._unclaimed and not process.descends_from(pid, os.getpid()):
            raise ValueError(f"this head did not start process {pid}")
        worker.pid = pid
        self.by_pid[pid] = worker
        if pid in self._sessions:
            self._sessions.remove(pid)
        status = self._unclaimed.pop(pid, None)
        if status is not None:
            worker.status = status[0]
        self._notify(WorkerReady(worker.worker_id, pid))

    def stop(self, worker_id: bytes, why: str, *, force: bool) -> None:
        worker = self.by_id.get(worker_id)
        if worker is None or worker.ended:
            return
        worker.stopping = worker.stopping or why
        if force or worker.peer is None:
            self._watch(worker)
            self._kill(worker)
        else:
            self._watch(worker, GOODBYE_PATIENCE_S if worker.running_actor else EXIT_PATIENCE_S)
            worker.peer.out.append(wire.Exit())
            self._connections.touch(worker.peer)

    def kill(self, worker_id: bytes, why: str) -> None:
        """End it whatever state it is in; WorkerDied follows."""
        worker = self.by_id.get(worker_id)
        if worker is None:
            self._notify(WorkerDied(worker_id, why, intended=True))  # has no effect if its death was reported before
            return
        worker.stopping = worker.stopping or why
        self._watch(worker)
        self._kill(worker)

    def _watch(self, worker: WorkerProcess, patience_s: float = EXIT_PATIENCE_S) -> None:
        self._timers.after(patience_s, lambda: self._kill_if_there(worker))

    def _kill_if_there(self, worker: WorkerProcess) -> None:
        if worker.worker_id in self.by_id:
            self._watch(worker)  # before the kill: if that raises an error, another attempt follows
            if worker.status is None:
                self._kill(worker)

    def _kill(self, worker: WorkerProcess) -> None:
        if worker.pid is not None and worker.status is None:
            process.kill_sessions({worker.pid})
        elif worker.peer is None:  # its process has not been started
            self._dead(worker, worker.stopping)
        elif worker.pid is None:  # its pid is not known yet: it exits when its connection closes
            self._connections.drop(worker.peer)
            self.ended(worker)

    def ended(self, worker: WorkerProcess) -> None:
        """Its connection closed: all that it said is read."""
        if worker.pid is None and not worker.stopping and self._zygotes.has_died(worker.zygote, worker.generation):
            self._try_to_order(worker)
            return
        worker.ended = True
        if worker.pid is None:
            lines = self._pipes.last_lines(worker).splitlines()
            self._dead(
                worker, f"ended before it could start ({lines[-1] if lines else 'no more processes or memory?'})"
            )
        elif worker.status is not None:
            self._reaped_and_read(worker)
        else:
            self._watch(worker)  # it closed its connection but may not exit by itself

    def reap(self) -> None:
        """Learn which children ended: workers, and orphans of theirs, whom the head has adopted."""
        strangers = False
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            worker = self.by_pid.get(pid)
            if worker is not None:
                self._reaped(worker, status)
            else:
                strangers = True
                self._unclaimed[pid] = status, self._timers.now()
        if strangers:
            self._forget_strangers()
            self._kill_orphans()

    def _kill_orphans(self) -> None:
        process.kill_orphans(self._sessions, self._dead_ids, self.by_pid)

    def _forget_strangers(self) -> None:
        """A worker introduces itself soon, if at all; whoever else ends as our child is of no interest."""
        oldest = self._timers.now() - 60.0
        for pid in [pid for pid, (_status, when) in self._unclaimed.items() if when < oldest]:
            del self._unclaimed[pid]

    def _reaped(self, worker: WorkerProcess, status: int) -> None:
        """It is dead; what it started and left behind goes too, and with it the copies of its connection."""
        assert worker.pid is not None
        worker.status = status
        self._timers.after(EXIT_PATIENCE_S, lambda: self._end_of_dead(worker))
        self._sessions.append(worker.pid)
        self._dead_ids.append(worker.worker_id.hex())
        process.kill_group(worker.pid)
        self._kill_orphans()
        if worker.ended:
            self._reaped_and_read(worker)

    def _end_of_dead(self, worker: WorkerProcess) -> None:
        """Somebody out of our reach holds a copy of a dead worker's connection: what it said has long been read."""
        if worker.worker_id in self.by_id:
            worker.ended = True
            self._reaped_and_read(worker)

    def _reaped_and_read(self, worker: WorkerProcess) -> None:
        assert worker.pid is not None and worker.status is not None
        words, code, number = process.ending(worker.status)
        lines = "" if worker.stopping else self._pipes.last_lines(worker)
        self.endings[worker.worker_id] = WorkerEnding(worker.pid, code, number, lines)
        if len(self.endings) > _MOST_ENDINGS:
            del self.endings[next(iter(self.endings))]
        self._dead(worker, words)

    def _dead(self, worker: WorkerProcess, words: str) -> None:
        """Let go of what it held; then the scheduler is told, whatever went wrong before."""
        if self.by_id.pop(worker.worker_id, None) is None:
            return
        if worker.pid is not None:
            self.by_pid.pop(worker.pid, None)
        died = WorkerDied(worker.worker_id, worker.stopping or words, intended=bool(worker.stopping))
        self._retry(lambda: self._let_go(worker))
        self._retry(lambda: self._end_work(worker, died.intended))
        self._retry(lambda: self._announce(died))

    def _announce(self, died: WorkerDied) -> None:
        """The scheduler hears of it when the devices that a crashed one held have been looked at."""
        record = self._scheduler.worker_record(died.worker_id)
        hold = record.hold if record is not None and not died.intended else None
        if hold is None:
            self._notify(died)
        else:
            self._after_failure(hold.place.node_id, hold.devices, lambda: self._notify(died))

    def recycle(self) -> int:
        """Stop idle workers that have run user code; how many there were."""
        records = ((worker, self._scheduler.worker_record(worker.worker_id)) for worker in self.by_id.values())
        idle = [worker for worker, record in records if record and worker.used and record.state.name == "IDLE"]
        for worker in idle:
            self.stop(worker.worker_id, "it was recycled", force=False)
        return len(idle)

    def notify(self, worker_id: bytes, message: Any) -> None:
        """Send a message to a worker that lives."""
        worker = self.by_id.get(worker_id)
        if worker is not None and not worker.ended:
            self._connections.send(worker.peer, message)

    def kill_all(self) -> None:
        process.kill_sessions({worker.pid for worker in self.by_id.values() if worker.pid and worker.status is None})
        for worker in list(self.by_id.values()):
            worker.stopping = worker.stopping or "the cluster was shut down"
            if worker.pid is None:
                self._kill(worker)


def _check_descriptors() -> None:
    """Raise OSError unless as many files can be opened as it takes to start a worker."""
    opened: list[int] = []
    try:
        while len(opened) < _DESCRIPTORS_TO_START:
            opened.append(os.dup(2))
    finally:
        for fd in opened:
            os.close(fd)


def _enlarge(sock: socket.socket) -> None:
    """Room for large frames: fewer switches between the two processes."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    fcntl.fcntl(sock, fcntl.F_SETFD, fcntl.FD_CLOEXEC)


EVERY_S = 1.0
_FORGOTTEN_S = 10.0  # after so long without a look, the use of CPU is not known until the next one
_STEP_BYTES = 1 << 20  # smaller differences are not told


class Load(Struct):
    """The use of one process with those that its main thread has started."""

    at: float
    cpu_s: float
    cpu_percent: float | None  # of one CPU, since the last look
    memory_bytes: int


class WorkerLoads:
    """Those of one head's workers, by pid."""

    def __init__(self, timers: LoopTimers, changed: Callable[[], None]) -> None:
        self._timers = timers
        self._changed = changed  # a new snapshot is worth making
        self._loads: dict[int, Load] = {}
        self._wanted = False
        self._armed = False

    def measure(self, on: bool) -> None:
        """Have a snapshot made once a second while somebody watches."""
        self._wanted = on
        if on and not self._armed:
            self._armed = True
            self._timers.after(EVERY_S, self._tick)

    def _tick(self) -> None:
        self._armed = False
        old = self._timers.now() - _FORGOTTEN_S
        self._loads = {pid: load for pid, load in self._loads.items() if load.at > old}
        if self._wanted:
            self._changed()
            self.measure(True)

    def of(self, pid: int) -> Load | None:
        """The newest load; None of a process that has ended or that the system hides."""
        now, before = self._timers.now(), self._loads.get(pid)
        if before is not None and now < before.at + EVERY_S / 2:
            return before
        try:
            cpu_s, memory_bytes = proc.usage(pid)
        except OSError:
            return None
        percent = None
        if before is not None and now < before.at + _FORGOTTEN_S:
            percent = float(round(max(0.0, cpu_s - before.cpu_s) / (now - before.at) * 100))
        load = self._loads[pid] = Load(now, cpu_s, percent, memory_bytes // _STEP_BYTES * _STEP_BYTES)
        return load
