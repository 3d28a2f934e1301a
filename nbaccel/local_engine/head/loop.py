"""The head: one process, one thread, one loop. It reads messages, tells the scheduler, does as it orders, writes.

```
  peers ── messages ──► Intake ── events ──► Scheduler ── commands ──► Orders ── messages ──► peers
                          └──► Objects, Store                             └──► WorkerProcesses, Leases
```
It runs no user code and unpickles nothing. Whatever is slow (devices, disks, output) is done by another process.
"""

from __future__ import annotations

import gc
import os
import secrets
import shutil
import signal
import socket
import sys
import time
import traceback
from typing import Any

import setproctitle

from nbaccel import __version__, proc
from nbaccel.local_engine import process, wire
from nbaccel.local_engine.head.boot import MARK, Config
from nbaccel.local_engine.head.connections import Connections, Hearing
from nbaccel.local_engine.head.decisions import Decisions
from nbaccel.local_engine.head.devices.leftovers import Leftovers
from nbaccel.local_engine.head.devices.room import DeviceRoom
from nbaccel.local_engine.head.devices.task_environment import TaskEnvironments
from nbaccel.local_engine.head.door import Door
from nbaccel.local_engine.head.environments import Environments
from nbaccel.local_engine.head.intake import Intake
from nbaccel.local_engine.head.notes import Notes
from nbaccel.local_engine.head.objects.delivery import Delivery
from nbaccel.local_engine.head.objects.garbage_rounds import GarbageRounds
from nbaccel.local_engine.head.objects.ledger import Freed, Objects
from nbaccel.local_engine.head.objects.lineage import Lineage
from nbaccel.local_engine.head.objects.requests import ObjectRequests
from nbaccel.local_engine.head.objects.store import Store
from nbaccel.local_engine.head.observers import Observers
from nbaccel.local_engine.head.orders import Orders
from nbaccel.local_engine.head.outputs import Outputs
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.poll import Poll
from nbaccel.local_engine.head.questions import Questions
from nbaccel.local_engine.head.records import ActorEntry, Job, WorkerProcess
from nbaccel.local_engine.head.side_process import SideProcesses
from nbaccel.local_engine.head.unread_errors import UnreadErrors
from nbaccel.local_engine.head.until_done import UntilDone
from nbaccel.local_engine.head.watchers import Watchers
from nbaccel.local_engine.head.worker_processes import WorkerProcesses, Zygotes
from nbaccel.local_engine.wire.framing import LineReader
from nbaccel.scheduling.events import ActorKillAsked, JobEnded
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.views import sessions

MOST_TROUBLES = 100  # in a row: then nothing works any more


class Head:
    """Everything that one head owns."""

    def __init__(self, config: Config, arena_fd: int, zygote: socket.socket) -> None:
        self.config = config
        self.arena_fd = arena_fd
        self.stopping = ""
        self.started_at = time.time()
        self.poll = Poll()
        self.note = Notes()
        self.until_done = UntilDone(self.poll, self.note)
        self.connections = Connections(self.poll, self.note)
        self.peers = self.connections.peers
        self.send = self.connections.send
        self.jobs: dict[int, Job] = {}
        self.actors: dict[bytes, ActorEntry] = {}
        self.names: dict[tuple[str, str], bytes] = {}
        self._job_count = 0
        self._finished = False
        self.scheduler = Scheduler(new_id=lambda: os.urandom(28))
        self.decisions = Decisions(
            self.scheduler,
            carry_out=lambda commands: self.orders.carry_out(commands),
            note=self.note,
            is_stopping=self._is_stopping,
        )
        self.handle = self.decisions.tell
        self.zygotes = Zygotes(self, zygote)
        self.side_processes = SideProcesses(self.poll, self.zygotes.order, self.note, self._is_stopping)
        self.workers = WorkerProcesses(self)
        self.environments = Environments()
        self.outputs = Outputs(self)
        self.unread_errors = UnreadErrors(self)
        self._make_objects()
        self.watchers = Watchers(self)
        self._make_devices()
        self.orders = Orders(self)
        self.intake = Intake(self)
        self.observers = Observers(self)
        self.questions = Questions(self)
        self.door = Door(self.poll, self, config.token)
        self._connect()

    def _make_objects(self) -> None:
        self.objects = Objects()
        self.garbage = GarbageRounds(self.poll, self.peers, self.send)
        self.store = Store(
            self.poll,
            self.objects,
            self.side_processes,
            self.garbage,
            capacity=self.config.arena_bytes,
            directory=self.config.directory,
            let_go=self._let_go,
        )
        self.garbage.on_over = self.store.make_room
        self.delivery = Delivery(
            self.objects,
            self.peers,
            self.send,
            self.store.when_here,
            self.unread_errors,
            arrived=lambda id, value: self.orders.arrived(id, value),
            copied=lambda record, client_id: self.lineage.read(record, client_id),
        )
        self.lineage = Lineage(
            self.objects,
            self.scheduler,
            self.handle,
            fill=self.delivery.fill,
            unpin=lambda entry, task: self.orders.unpin(entry, task),
            node_of=self._node_of,
        )
        self.object_requests = ObjectRequests(
            self.objects,
            self.store,
            self.delivery,
            self.send,
            read=self.unread_errors.read,
            placed=self.lineage.placed,
        )

    def _make_devices(self) -> None:
        options = self.config.options
        self.devices = DeviceRoom(
            self.poll,
            self.side_processes,
            self.config,
            self.handle,
            self.watchers,
            self.note,
            known=self._node_is_known,
            refuse=self._refuse_start,
            warn=self.warn_all,
            is_stopping=self._is_stopping,
        )
        self.nodes = self.devices.nodes
        threshold: Any = options.get("leak_threshold")
        self.leftovers = Leftovers(
            self.nodes,
            self.devices.looks.look,
            self.scheduler,
            self.watchers,
            threshold_bytes=int(threshold) if threshold is not None else None,
        )
        self.task_environments = TaskEnvironments(
            self.nodes, self.environments, self.jobs, self.watchers, hide=bool(options.get("hide_unassigned"))
        )

    def _node_is_known(self) -> None:
        self.ready()
        self.questions.reasons.first_look()

    def _connect(self) -> None:
        """Who hears what peers say, and of their ends."""
        connections = self.connections
        hearing = Hearing(
            self.intake.handlers(),
            failed={wire.Submit: self.intake.submit_failed, wire.Ask: self.questions.failed},
            expel=connections.expel,
            note=self.note,
        )
        connections.hear = hearing.hear
        connections.on_end = self._peer_ended
        connections.on_written = {"news": self.watchers.news_written, "observer": self.watchers.observer_written}

    def _is_stopping(self) -> bool:
        return bool(self.stopping)

    def _node_of(self, client_id: int) -> bytes:
        """The node on which a client's process is."""
        peer = self.peers.get(client_id)
        worker = peer.worker if peer is not None else None
        return bytes(worker.node_id) if worker is not None else self.nodes.node_id

    # ---- life

    def run(self) -> None:
        """Until the last driver of an embedded head has gone, or a daemon is told to stop."""
        setproctitle.setproctitle("nbaccel::head")
        gc.freeze()  # what is imported stays: the collector need not look at it again
        gc.set_threshold(20_000, 20, 50)  # 100,000 waiting tasks are not garbage: fewer, larger looks
        self._watch_children()
        try:
            self.door.listen(os.path.join(self.config.directory, "head.sock"))
        except OSError as error:
            self._refuse_start(f"The head cannot listen in {self.config.directory}: {error}.")
        for fd in (self.config.driver_fd, self.config.news_fd):
            if fd >= 0:
                self.door.let_in(socket.socket(fileno=fd), is_our_driver=True)
        if self.config.owner_pid:
            self._watch_owner(self.config.owner_pid)
        self.devices.setup.begin()
        troubles = 0
        while not self._finished:
            try:
                self.poll.once()
                self.flush()
                troubles = 0
            except (
                Exception
            ):  # the loop's last line: what one timer or child brings about must not end the others' work
                troubles += 1
                self.note(f"the loop goes on after:\n{traceback.format_exc()}")
                if troubles > MOST_TROUBLES:
                    raise
        self._leave()

    def _watch_children(self) -> None:
        read, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.signal(signal.SIGTERM, lambda number, frame: self.stop("it was told to stop by SIGTERM"))

        def drain() -> None:
            try:
                os.read(read, 4096)
            except BlockingIOError:
                pass  # another pass took the bytes
            self.workers.reap()

        self.poll.register(read, drain)

    def _watch_owner(self, pid: int) -> None:
        """A driver that dies takes its embedded head along, even if a child of it still holds our connection."""
        try:
            fd = os.pidfd_open(pid)
        except OSError:
            self.stop("its driver had gone before it was ready")
            return

        def gone() -> None:
            self.poll.unregister(fd)
            os.close(fd)
            self.stop("its driver has ended")

        self.poll.register(fd, gone)

    def ready(self) -> None:
        """The node is known: be found by others, and greet those who wait."""
        record = sessions.SessionRecord(
            session=self.config.session,
            socket=os.path.join(self.config.directory, "head.sock"),
            token=self.config.token,
            pid=os.getpid(),
            start_time=process.start_time(os.getpid()),
            boot_id=proc.boot_id(),
            directory=self.config.directory,
            shared=self.config.shared,
            title=self.config.title,
            version=__version__,
            python=sys.version.split()[0],
            prefix=sys.prefix,
            started_at=self.started_at,
            owner_pid=self.config.owner_pid,
        )
        try:
            sessions.publish(record)
        except OSError as error:
            self._refuse_start(
                f"The session file cannot be written to {sessions.directory()}: {error.strerror or error}. Free "
                "some space there, "
                "or set JUPYTER_RUNTIME_DIR to a directory that you can write."
            )
            return
        self._say_ready("")
        self.intake.welcome_waiting()

    def _say_ready(self, problem: str) -> None:
        if self.config.ready_fd >= 0:
            try:
                os.write(self.config.ready_fd, (problem or "ready").encode())
            except BrokenPipeError:
                pass  # whoever started us has gone
            os.close(self.config.ready_fd)
            self.config.ready_fd = -1

    def _refuse_start(self, why: str) -> None:
        """The user's options cannot be met: everyone who waits is told, and the head ends."""
        self._say_ready(why)
        for peer in list(self.peers.values()):
            if peer.role != "worker":
                self.send(peer, wire.Refused(why))
        self.door.refuse_all(why)
        self.stop(why)

    def stop(self, why: str) -> None:
        """Begin to end: kill the workers, send out what they printed, then leave."""
        if self.stopping:
            return
        self.stopping = why
        self.workers.kill_all()
        self.devices.lending.release_all()
        self.poll.at(time.monotonic() + 2.0, self._finish)
        self._finish_when_quiet()

    def _finish_when_quiet(self) -> None:
        if not self.workers.by_id:
            self.outputs.drain(self._finish)

    def _finish(self) -> None:
        self._finished = True

    def _leave(self) -> None:
        deadline = time.monotonic() + 1.0
        for peer in list(self.peers.values()):
            if peer.role == "news":
                self.send(peer, wire.LogsDrained())
        while time.monotonic() < deadline:
            self.flush()
            if not any(peer.pending for peer in self.peers.values()):
                break
            self.poll.at(time.monotonic() + 0.01, lambda: None)
            self.poll.once()
        process.kill_marked(MARK, self.config.session)  # what tasks had put into sessions of their own
        sessions.withdraw(self.config.session)
        shutil.rmtree(self.config.directory, ignore_errors=True)
        os._exit(0)  # sockets close, the zygote and the helpers see it and leave

    # ---- peers

    def next_client_id(self) -> int:
        return self.connections.next_client_id()

    def objection(self, hello: wire.Hello) -> str:
        """Why a connection that has shown the token is refused all the same; "": it is not."""
        return self.intake.objection(hello)

    def admit(self, peer: Peer, messages: list[Any], rest: bytes) -> None:
        """The door lets somebody in, who has said this, and begun to say more."""
        self.connections.add(peer)
        self.connections.hear(peer, messages)
        if rest and not peer.closed:
            self.connections.take_in(peer, lambda: peer.reader.feed(rest))

    def admit_observer(self, peer: Peer, lines: LineReader) -> None:
        self.peers[peer.client_id] = peer
        self.observers.adopt(peer, lines)

    def flush(self) -> None:
        """Write to everyone for whom something waits; free what came free."""
        self.store.collect()
        self.connections.flush()

    def _peer_ended(self, peer: Peer) -> None:
        if peer.role == "worker":
            self.until_done(lambda: self.workers.ended(peer.worker))
        elif peer.role == "driver":
            self.driver_gone(peer, "its driver ended")
        else:
            self.watchers.gone(peer)

    # ---- jobs

    def new_job(self, peer: Peer, hello: wire.Hello) -> Job:
        self._job_count += 1
        namespace = hello.namespace or secrets.token_hex(16)
        job = Job(self._job_count, peer.client_id, hello, namespace, started_at=time.time(), name=self._job_name(hello))
        self.jobs[job.number] = job
        peer.job = job.number
        self.zygotes.tell_of_preloading(job.number)
        return job

    def _job_name(self, hello: wire.Hello) -> str:
        """What views call it; a notebook whose kernel was restarted is another job, and named apart."""
        name = hello.title.removeprefix("notebook ")
        return f"{name} (pid {hello.pid})" if name in {job.name for job in self.jobs.values()} else name

    def driver_gone(self, peer: Peer, why: str) -> None:
        """A driver left or died: its tasks end, what it held is let go; an embedded head ends with its only driver."""
        job = self.jobs.get(peer.job)
        if job is None or job.ended:
            return
        job.ended = True
        self.handle(JobEnded(job.number, why))
        self.client_gone(peer.client_id)
        self.questions.job_ended(job.number)
        self.intake.job_ended(job.number)
        if self.config.driver_fd >= 0 and not any(not other.ended for other in self.jobs.values()):
            self.stop(why)

    def client_gone(self, client_id: int) -> None:
        self.garbage.answered(client_id)
        self.store.client_gone(client_id)
        self.questions.client_gone(client_id)
        self.objects.client_gone(client_id)

    def worker_gone(self, worker: WorkerProcess) -> None:
        if worker.peer is not None:
            if not worker.peer.closed:
                self.connections.drop(worker.peer)
            client_id = worker.peer.client_id
            self.until_done(lambda: self.client_gone(client_id))
        self.leftovers.worker_gone(worker.worker_id)
        if self.stopping:
            self._finish_when_quiet()

    def _let_go(self, freed: Freed) -> None:
        """What hung on objects that nobody holds any more."""
        if freed.errors:
            self.unread_errors.gone(freed.errors)
        if freed.placed:
            self.lineage.forget(freed.placed)
        for actor_id in freed.actors:
            self.actor_out_of_scope(actor_id)

    def actor_out_of_scope(self, actor_id: bytes) -> None:
        """No process holds a handle of it any more."""
        entry = self.actors.get(actor_id)
        if entry is None:
            self.objects.records.pop(actor_id, None)
            self.objects.actor_ids.discard(actor_id)
        elif not entry.scope_ended and not entry.terms.actor.detached:
            entry.scope_ended = True
            self.questions.name_free(entry)
            self.handle(ActorKillAsked(actor_id, graceful=True, why="its last handle went out of scope"))

    def warn_all(self, kind: str, message: str) -> None:
        for job in self.jobs.values():
            self.watchers.notice(job.number, wire.Notice(kind, message))
