"""The head's helper processes (log, prober, mover): started through the zygote, restarted when they die."""

from __future__ import annotations

import socket
import traceback
from collections.abc import Callable
from typing import Any, Protocol

from nbaccel.local_engine.head.notes import Note
from nbaccel.local_engine.head.poll import Loop
from nbaccel.local_engine.side_processes.zygote import Order

RESTART_PAUSE_S = 0.5  # for one that died as soon as it lived


class Helper(Protocol):
    """One helper process, for the component that talks to it."""

    on_restart: Callable[[], None] | None

    @property
    def is_alive(self) -> bool: ...
    def say(self, body: bytes, fds: tuple[int, ...] = ()) -> None: ...
    def close(self) -> None: ...


class Helpers(Protocol):
    """Makes helper processes."""

    def make(
        self, name: str, argument: str, *, decode: Callable[[bytes], Any], on_report: Callable[[Any], None]
    ) -> Helper: ...


class SideProcesses:
    """Makes the helper processes of one head."""

    def __init__(
        self, loop: Loop, order: Callable[[Order, list[int]], None], note: Note, is_stopping: Callable[[], bool]
    ) -> None:
        self._loop = loop
        self._order = order
        self._note = note
        self._is_stopping = is_stopping

    def make(
        self, name: str, argument: str, *, decode: Callable[[bytes], Any], on_report: Callable[[Any], None]
    ) -> Role:
        return Role(self._loop, self._order, self._note, self._is_stopping, name, argument, decode, on_report)


class Role:
    """One helper process. Messages wait until it can take them; when it dies, a new one is started and told."""

    def __init__(
        self,
        loop: Loop,
        order: Callable[[Order, list[int]], None],
        note: Note,
        is_stopping: Callable[[], bool],
        name: str,
        argument: str,
        decode: Callable[[bytes], Any],
        on_report: Callable[[Any], None],
    ) -> None:
        self._loop = loop
        self._order = order
        self._note = note
        self._is_stopping = is_stopping
        self._name = name
        self._argument = argument
        self._decode = decode
        self._on_report = on_report
        self._sock: socket.socket | None = None
        self._waiting: list[tuple[bytes, tuple[int, ...]]] = []
        self.starts = 0
        self._started_at = 0.0
        self._pausing = False
        # Tells a successor everything that it has to know; what its predecessor had not read is then forgotten.
        self.on_restart: Callable[[], None] | None = None

    @property
    def is_alive(self) -> bool:
        return self._sock is not None

    def start(self) -> None:
        if self._sock is not None or self._pausing:
            return
        self._started_at = self._loop.now()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        self._sock = ours
        self.starts += 1
        self._order(Order(self._name, argument=self._argument), [theirs.fileno()])
        theirs.close()
        self._loop.register(ours, self._readable)

    def say(self, body: bytes, fds: tuple[int, ...] = ()) -> None:
        """Send a message, starting the process if need be."""
        self.start()
        self._waiting.append((body, fds))
        self.write()

    def write(self) -> None:
        while self._waiting and self._sock is not None:
            body, fds = self._waiting[0]
            try:
                if fds:
                    socket.send_fds(self._sock, [body], list(fds))
                else:
                    self._sock.send(body)
            except BlockingIOError:
                self._loop.want_write(self._sock, self.write)
                return
            except OSError:
                return  # it has died; reading will show it
            del self._waiting[0]

    def _readable(self) -> None:
        for _ in range(64):  # then the others have their turn
            if self._sock is None:
                return
            try:
                body = self._sock.recv(1 << 20)
            except BlockingIOError:
                return
            except OSError:
                body = b""
            if not body:
                self._died()
                return
            try:
                self._on_report(self._decode(body))
            except Exception:  # a failure of one helper's message ends that helper only
                self._note(f"a report of the {self._name} process failed:\n{traceback.format_exc()}")
                self._died()
                return

    def _died(self) -> None:
        assert self._sock is not None
        self._loop.unregister(self._sock)
        self._sock.close()
        self._sock = None
        if self._is_stopping() and self.starts > 3:
            return
        self._note(f"the {self._name} process ended and is started again")
        again_at = self._started_at + RESTART_PAUSE_S
        if self._loop.now() < again_at and not self._is_stopping():
            self._pausing = True
            self._loop.at(again_at, self._restart)
        else:
            self._restart()

    def _restart(self) -> None:
        self._pausing = False
        if self.on_restart is not None:
            self._waiting.clear()
        self.start()
        if self.on_restart is not None:
            self.on_restart()

    def close(self) -> None:
        if self._sock is not None:
            self._loop.unregister(self._sock)
            self._sock.close()
            self._sock = None
