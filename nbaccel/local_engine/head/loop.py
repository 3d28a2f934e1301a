"""The head: one process, one thread, one loop. It reads messages, tells the scheduler, obeys its orders, and writes.

```
  peers ── messages ──► connections ──► objects/, tasks/, actors, … ── events ──► Scheduler
  peers ◄── messages ── connections ◄── tasks/, workers, devices/, … ◄── orders ◄── commands ──┘
```
`wiring` puts the components together. The head runs no user code and unpickles nothing. Other processes do the slow
work (devices, disks, output).
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import setproctitle

from nbaccel import __version__, proc
from nbaccel.local_engine import process, wire
from nbaccel.local_engine.head.authentication import Authentication
from nbaccel.local_engine.head.boot import Config
from nbaccel.local_engine.head.connections import Peer
from nbaccel.local_engine.head.wiring import Wiring
from nbaccel.local_engine.stall_timer import StallTimer
from nbaccel.local_engine.wire.framing import LineReader
from nbaccel.views import sessions

END_PATIENCE_S = 3.0  # of the end, while no worker ends and none of their output moves
LAST_WORDS_PATIENCE_S = 6.0  # with drivers that do not read: they show what they have read before they read on
_RECORD_CHECK_S = 30.0  # between two looks whether the session file is still there
_LOOK_S = 0.1  # between two looks whether anything still moves
MOST_TROUBLES = 100  # in a row: then nothing works any more


class Head:
    """The life of a head, from the first look at the devices to the last line written.

    `clock` gives the seconds by which all its components wait.
    """

    def __init__(
        self, config: Config, arena_fd: int, zygote: socket.socket, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.config = config
        self.stopping = ""
        self.started_at = time.time()
        self._finished = False
        self.wiring = Wiring(self, config, arena_fd, zygote, clock)
        self.poll, self.note = self.wiring.poll, self.wiring.note
        self.authentication = Authentication(self.poll, self, config.token, clock)

    # ---- life

    def run(self) -> None:
        """Run until the last driver of an embedded head has gone, or a daemon is told to stop."""
        setproctitle.setproctitle("nbaccel::head")
        gc.enable()
        gc.freeze()  # what is imported stays: the collector need not look at it again
        gc.set_threshold(20_000, 20, 50)  # 100,000 waiting tasks are not garbage: fewer, larger looks
        self._watch_children()
        try:
            self.authentication.listen(os.path.join(self.config.directory, "head.sock"))
        except OSError as error:
            self.refuse_start(f"The head cannot listen in {self.config.directory}: {error}.")
        for fd in (self.config.driver_fd, self.config.news_fd):
            if fd >= 0:
                self.authentication.let_in(socket.socket(fileno=fd), is_our_driver=True)
        if self.config.owner_pid:
            self._watch_owner(self.config.owner_pid)
        self.wiring.devices.setup.begin()
        troubles = 0
        while not self._finished:
            try:
                self.poll.once()
                self.wiring.flush()
                troubles = 0
            except (
                Exception
            ):  # the loop's last line: what one timer or child brings about must not end the others' work
                troubles += 1
                self.note(f"the head goes on after this error:\n{traceback.format_exc()}")
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
            self.wiring.workers.reap()

        self.poll.register(read, drain)

    def _watch_owner(self, pid: int) -> None:
        """End an embedded head when its driver dies, even if a child of the driver still has the connection open."""
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
        """The node is known: publish the session, and greet the waiting connections."""
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
            path = sessions.publish(record)
        except OSError as error:
            self.refuse_start(
                f"The session file cannot be written to {sessions.directory()}: {error.strerror or error}. "
                f"{sessions.advice(error, 'JUPYTER_RUNTIME_DIR')}."
            )
            return
        self._report_ready("")
        self.wiring.handshake.welcome_waiting()
        self.poll.after(_RECORD_CHECK_S, lambda: self._keep_record(path, record))

    def _keep_record(self, path: str, record: sessions.SessionRecord) -> None:
        """Write the session file again if somebody has removed it: without it, nobody finds or stops this head."""
        if self.stopping:
            return
        if not os.path.exists(path):
            try:
                sessions.publish(record)
            except OSError as error:
                self.note(f"the session file is gone and cannot be written again: {error}")
        self.poll.after(_RECORD_CHECK_S, lambda: self._keep_record(path, record))

    def _report_ready(self, problem: str) -> None:
        if self.config.ready_fd >= 0:
            try:
                os.write(self.config.ready_fd, (problem or "ready").encode())
            except BrokenPipeError:
                pass  # the process that started us has gone
            os.close(self.config.ready_fd)
            self.config.ready_fd = -1

    def refuse_start(self, why: str) -> None:
        """The user's options cannot be met: tell all waiting connections, and end the head."""
        self._report_ready(why)
        for peer in list(self.wiring.peers.values()):
            if peer.role != "worker":
                self.wiring.send(peer, wire.Refused(why))
        self.authentication.refuse_all(why)
        self.stop(why)

    def stop(self, why: str) -> None:
        """Begin to end: kill the workers, send their last output, then leave."""
        if self.stopping:
            return
        self.stopping = why
        self.wiring.workers.kill_all()
        self.wiring.devices.device_leases.release_all()
        stall = StallTimer(END_PATIENCE_S, self.poll.now(), self._what_moves)
        self._finish_without(stall)
        self._finish_when_still()

    def _what_moves(self) -> object:
        """What changes while workers end, their output is read, and drivers read it."""
        return len(self.wiring.workers.by_id), self.wiring.outputs.taken_bytes, self._unread_bytes()

    def _unread_bytes(self) -> int:
        return sum(len(peer.pending) for peer in self.wiring.peers.values())

    def _finish_without(self, stall: StallTimer) -> None:
        """Give up what does not move any more."""
        if stall.is_over(self.poll.now()):
            self._finish()
        else:
            self.poll.after(_LOOK_S, lambda: self._finish_without(stall))

    def worker_gone(self) -> None:
        """A worker has ended, perhaps the last one that the end of the head waits for."""
        if self.stopping:
            self._finish_when_still()

    def _finish_when_still(self) -> None:
        if not self.wiring.workers.by_id:
            self.wiring.outputs.drain(self._finish)

    def _finish(self) -> None:
        self._finished = True

    def _leave(self) -> None:
        for peer in list(self.wiring.peers.values()):
            if peer.role == "news":
                self.wiring.send(peer, wire.LogsDrained())
        self.wiring.flush()
        stall = StallTimer(LAST_WORDS_PATIENCE_S, self.poll.now(), self._unread_bytes)
        while self._unread_bytes() and not stall.is_over(self.poll.now()):
            self.poll.after(0.01, lambda: None)
            self.poll.once()
            self.wiring.flush()
        process.kill_marked(
            process.MARK, self.config.session
        )  # processes that tasks had put into sessions of their own
        sessions.withdraw(self.config.session)
        import shutil

        shutil.rmtree(self.config.directory, ignore_errors=True)
        os._exit(0)  # sockets close, the zygote and the helpers see it and leave

    # ---- authentication

    def next_client_id(self) -> int:
        return self.wiring.connections.next_client_id()

    def objection(self, hello: wire.Hello) -> str:
        """Why a connection with a valid token is refused, "" if it is not."""
        return self.wiring.handshake.objection(hello)

    def admit(self, peer: Peer, messages: list[Any], rest: bytes) -> None:
        """Take over an admitted connection, with its first message and further bytes."""
        connections = self.wiring.connections
        connections.add(peer)
        connections.receive(peer, messages)
        if rest and not peer.closed:
            connections.take_in(peer, lambda: peer.reader.feed(rest))

    def admit_observer(self, peer: Peer, lines: LineReader) -> None:
        self.wiring.peers[peer.client_id] = peer
        self.wiring.observers.adopt(peer, lines)
