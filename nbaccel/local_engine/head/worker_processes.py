"""Starting, watching and ending worker processes. A worker is dead when it is reaped and its last words are read."""

from __future__ import annotations

import fcntl
import os
import resource
import socket
import subprocess
import sys
import time
from collections import deque
from contextlib import ExitStack
from typing import TYPE_CHECKING

import msgspec

from nbaccel import roots
from nbaccel.local_engine import process, wire
from nbaccel.local_engine.head.orphaned_work import end_work_of
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import WorkerProcess
from nbaccel.local_engine.side_processes.zygote import Order, Report
from nbaccel.scheduling.commands import StartWorker
from nbaccel.scheduling.events import WorkerDied, WorkerReady

if TYPE_CHECKING:
    from nbaccel.local_engine.head.loop import Head

EXIT_PATIENCE_S = 1.0  # between asking a process to leave and killing it
GOODBYE_PATIENCE_S = 30.0  # the same for an actor, whose own last words are user code
START_PAUSE_S = 0.2  # before the next try where descriptors are short: those of the dead may come free
RESTART_PAUSE_S = 0.5  # for a zygote that died as soon as it lived
_MOST_ENDINGS = 1_000
_DESCRIPTORS_TO_START = 16  # two sockets, two pipes, copies on their way to the zygote, and some to live on
_NOT_PRELOADED = ". Each task imports it anew."


class Zygotes:
    """The head's fork servers: its own, and one for each other interpreter prefix."""

    def __init__(self, head: Head, first: socket.socket) -> None:
        self._head = head
        self._socks: dict[str, socket.socket] = {}
        self._pythons: dict[str, str] = {"": sys.executable}
        self._waiting: dict[str, list[tuple[bytes, list[int]]]] = {}
        self._born: dict[str, float] = {}
        self._pausing: set[str] = set()
        self.generation: dict[str, int] = {}  # how many there have been
        self.preloaded: dict[str, str] = {}
        self._preload = list(head.config.preload)
        self._adopt("", first)

    def _adopt(self, key: str, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._socks[key] = sock
        self._born[key] = time.monotonic()
        self.generation[key] = self.generation.get(key, 0) + 1
        self._head.poll.register(sock, lambda: self._readable(key))

    def key_for(self, prefix: str, python: str) -> str:
        """The name of the zygote for drivers of this prefix."""
        if prefix in ("", sys.prefix):
            return ""
        self._pythons[prefix] = python
        return prefix

    def order(self, order: Order, fds: list[int]) -> None:
        """Have a process started. The descriptors may be closed afterwards."""
        key = "" if order.role != "worker" else order.argument
        order.argument = order.argument if order.role != "worker" else ""
        if key not in self._socks and key not in self._pausing:
            self._adopt(key, self._execute(key))
        self._waiting.setdefault(key, []).append((msgspec.msgpack.encode(order), _copies(fds)))
        self._write(key)

    def has_died(self, key: str, generation: int) -> bool:
        """Whether the zygote of this generation is dead, even if its end has not been read yet."""
        if self.generation.get(key, 0) != generation or key not in self._socks:
            return True
        try:
            return not self._socks[key].recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _write(self, key: str) -> None:
        if key not in self._socks:
            return
        sock, waiting = self._socks[key], self._waiting.get(key, [])
        while waiting:
            body, fds = waiting[0]
            try:
                socket.send_fds(sock, [body], fds)
            except BlockingIOError:
                self._head.poll.want_write(sock, lambda: self._write(key))
                return
            except OSError:
                return  # it has died; reading will tell, and its successor gets the order
            for fd in fds:
                os.close(fd)
            del waiting[0]

    def _readable(self, key: str) -> None:
        try:
            body = self._socks[key].recv(65536)
        except BlockingIOError:
            return
        except OSError:
            body = b""
        if not body:
            self._died(key)
            return
        try:
            report = msgspec.msgpack.decode(body, type=Report)
        except (ValueError, RecursionError) as error:  # as msgspec raises them
            self._head.note(f"the zygote said what cannot be read: {error}")
            self._died(key)
        else:
            self._reported(report)

    def _reported(self, report: Report) -> None:
        """Modules that may not live in a fork server make it start again without them."""
        bad = {name: why for name, why in report.preloaded.items() if why}
        self.preloaded.update(report.preloaded)
        if not bad:
            return
        for why in bad.values():
            self._head.warn_all("preload", f"{why}{_NOT_PRELOADED}")
        self._preload = [name for name in self._preload if name not in bad]
        if any(why.startswith("importing") for why in bad.values()) and len(bad) == sum(
            why.startswith("importing") for why in bad.values()
        ):
            return
        self._head.poll.unregister(self._socks[""])
        self._socks.pop("").close()
        self._adopt("", self._execute(""))

    def tell_of_preloading(self, job: int) -> None:
        """What could not be preloaded, to a job that begins after that was found."""
        for why in filter(None, self.preloaded.values()):
            self._head.watchers.notice(job, wire.Notice("preload", f"{why}{_NOT_PRELOADED}"))

    def _died(self, key: str) -> None:
        sock = self._socks.pop(key)
        self._head.poll.unregister(sock)
        sock.close()
        if self._head.stopping:
            return
        self._head.note("the zygote ended and is started again")
        again_at = self._born[key] + RESTART_PAUSE_S
        if time.monotonic() < again_at:
            self._pausing.add(key)
            self._head.poll.at(again_at, lambda: self._restart(key))
        else:
            self._restart(key)

    def _restart(self, key: str) -> None:
        self._pausing.discard(key)
        if not self._head.stopping:
            self._adopt(key, self._execute(key))
            self._write(key)

    def _execute(self, key: str) -> socket.socket:
        """Start a zygote by exec: after the first has died, or for another interpreter."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        arena_fd = self._head.arena_fd
        preload = self._preload if key == "" else []
        code = (
            f"import sys; sys.path.insert(0, {roots.SYS_PATH_ENTRY!r}); "
            "from nbaccel.local_engine.side_processes.zygote import main; "
            f"main({theirs.fileno()}, {os.getpid()}, {arena_fd}, {preload!r})"
        )
        try:
            subprocess.Popen([self._pythons[key], "-c", code], pass_fds=[theirs.fileno(), arena_fd]).returncode = 0
        except OSError as error:  # no more processes, or the interpreter has gone: tried again after a pause
            self._head.note(f"the zygote cannot be started with {self._pythons[key]}: {error}")
        theirs.close()
        return ours

    def close(self) -> None:
        for sock in self._socks.values():
            self._head.poll.unregister(sock)
            sock.close()
        self._socks.clear()


class WorkerProcesses:
    """All worker processes of a head."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self.by_id: dict[bytes, WorkerProcess] = {}
        self.by_pid: dict[int, WorkerProcess] = {}
        self._unclaimed: dict[int, tuple[int, float]] = {}  # pid -> (status, when) of a child that nobody knows yet
        self._sessions: deque[int] = deque(maxlen=100)  # of workers that ended: what is left there is killed
        self.endings: dict[
            bytes, tuple[int | None, int | None, int | None]
        ] = {}  # (pid, exit code, signal) of the dead

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
            self._head.connections.drop(worker.peer)  # should its process come up, it finds nobody and leaves
        self._head.poll.at(
            time.monotonic() + START_PAUSE_S, lambda: self._head.until_done(lambda: self._never_started(worker_id, why))
        )

    def _never_started(self, worker_id: bytes, why: str) -> None:
        worker = self.by_id.get(worker_id)
        if worker is not None:
            self._dead(worker, why)
        else:
            self._head.handle(WorkerDied(worker_id, why))

    def _order(self, worker: WorkerProcess) -> None:
        """Have its process forked; again, with new connections, when the zygote died before it came to that."""
        ours, theirs = socket.socketpair()
        with theirs:
            worker.peer = self._connect(worker, ours)
            _enlarge(ours)
            _enlarge(theirs)
            out_write, err_write = self._head.outputs.open(worker)
            try:
                self._fork(worker, [theirs.fileno(), out_write, err_write])
            finally:
                os.close(out_write)
                os.close(err_write)

    def _connect(self, worker: WorkerProcess, sock: socket.socket) -> Peer:
        with ExitStack() as undo:
            undo.enter_context(sock)
            peer = Peer(sock, "worker", self._head.next_client_id())
            peer.worker = worker
            undo.pop_all()
        return peer

    def _fork(self, worker: WorkerProcess, fds: list[int]) -> None:
        head, pool = self._head, worker.pool
        order = Order("worker", worker.worker_id, argument=pool.zygote if pool else "")
        worker.zygote, worker.generation = order.argument, head.zygotes.generation.get(order.argument, 0)
        if pool is not None and pool.how == "exec":
            order.how = "exec"
            order.env_vars, order.environment = head.environments.for_exec(pool.environment)
        head.connections.add(worker.peer)
        head.zygotes.order(order, fds)

    def introduced(self, worker: WorkerProcess, pid: int) -> None:
        """WorkerHello came. Raises ValueError for a pid that is not the worker's: the head will send it signals."""
        if worker.pid is not None or pid in self.by_pid:
            raise ValueError(f"process {pid} introduces itself a second time")
        if pid not in self._unclaimed and not process.descends_from(pid, os.getpid()):
            raise ValueError(f"process {pid} is none that this head has started")
        worker.pid = pid
        self.by_pid[pid] = worker
        if pid in self._sessions:
            self._sessions.remove(pid)
        status = self._unclaimed.pop(pid, None)
        if status is not None:
            worker.status = status[0]
        self._head.handle(WorkerReady(worker.worker_id, pid))

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
            self._head.connections.touch(worker.peer)

    def kill(self, worker_id: bytes, why: str) -> None:
        """End it whatever state it is in; WorkerDied follows."""
        worker = self.by_id.get(worker_id)
        if worker is None:
            self._head.handle(WorkerDied(worker_id, why, intended=True))  # no news where its death has been told
            return
        worker.stopping = worker.stopping or why
        self._watch(worker)
        self._kill(worker)

    def _watch(self, worker: WorkerProcess, patience_s: float = EXIT_PATIENCE_S) -> None:
        self._head.poll.at(time.monotonic() + patience_s, lambda: self._kill_if_there(worker))

    def _kill_if_there(self, worker: WorkerProcess) -> None:
        if worker.worker_id in self.by_id:
            self._watch(worker)  # first: whatever the kill raises, there is another
            if worker.status is None:
                self._kill(worker)

    def _kill(self, worker: WorkerProcess) -> None:
        if worker.pid is not None and worker.status is None:
            process.kill_sessions({worker.pid})
        elif worker.peer is None:  # it waits for its start
            self._dead(worker, worker.stopping)
        elif worker.pid is None:  # it has not introduced itself: its connection's end makes it leave
            self._head.connections.drop(worker.peer)
            self.ended(worker)

    def ended(self, worker: WorkerProcess) -> None:
        """Its connection closed: all that it said is read."""
        if worker.pid is None and not worker.stopping and self._head.zygotes.has_died(worker.zygote, worker.generation):
            self._try_to_order(worker)
            return
        worker.ended = True
        if worker.pid is None:
            self._dead(worker, "ended before it could start (no more processes or memory?)")
        elif worker.status is not None:
            self._reaped_and_read(worker)
        else:
            self._watch(worker)  # it closed its connection, but is it leaving?

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
                self._unclaimed[pid] = status, time.monotonic()
        if strangers:
            self._forget_strangers()
            process.kill_orphans(self._sessions)

    def _forget_strangers(self) -> None:
        """A worker introduces itself soon, if at all; whoever else ends as our child is of no interest."""
        oldest = time.monotonic() - 60.0
        for pid in [pid for pid, (_status, when) in self._unclaimed.items() if when < oldest]:
            del self._unclaimed[pid]

    def _reaped(self, worker: WorkerProcess, status: int) -> None:
        """It is dead; what it started and left behind goes too, and with it the copies of its connection."""
        assert worker.pid is not None
        worker.status = status
        self._head.poll.at(time.monotonic() + EXIT_PATIENCE_S, lambda: self._end_of_dead(worker))
        self._sessions.append(worker.pid)
        process.kill_group(worker.pid)
        process.kill_orphans(self._sessions)
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
        self.endings[worker.worker_id] = worker.pid, code, number
        if len(self.endings) > _MOST_ENDINGS:
            del self.endings[next(iter(self.endings))]
        self._dead(worker, words)

    def _dead(self, worker: WorkerProcess, words: str) -> None:
        """Let go of what it held; then the scheduler is told, whatever went wrong before."""
        if self.by_id.pop(worker.worker_id, None) is None:
            return
        if worker.pid is not None:
            self.by_pid.pop(worker.pid, None)
        head = self._head
        died = WorkerDied(worker.worker_id, worker.stopping or words, intended=bool(worker.stopping))
        head.until_done(lambda: head.worker_gone(worker))
        head.until_done(lambda: end_work_of(head, worker, died.intended))
        head.until_done(lambda: self._tell(died))

    def _tell(self, died: WorkerDied) -> None:
        """The scheduler hears of it when the devices that a crashed one held have been looked at."""
        record = self._head.scheduler.worker_record(died.worker_id)
        hold = record.hold if record is not None and not died.intended else None
        if hold is None:
            self._head.handle(died)
        else:
            self._head.devices.watch.after_failure(hold.place.node_id, hold.devices, lambda: self._head.handle(died))

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


def _copies(fds: list[int]) -> list[int]:
    """Of all or of none."""
    with ExitStack() as undo:
        made = []
        for fd in fds:
            made.append(os.dup(fd))
            undo.callback(os.close, made[-1])
        undo.pop_all()
    return made


def _enlarge(sock: socket.socket) -> None:
    """Room for large frames: fewer switches between the two processes."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    fcntl.fcntl(sock, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
