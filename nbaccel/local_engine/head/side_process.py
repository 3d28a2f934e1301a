"""The head's helper processes (log, prober, mover), and the fork servers that start them and workers.

The head's fork servers: started when they are needed, and again when they die.

A hint that workers will import a module costs nobody a wait: a second fork server imports it, and once it has, it takes
the place of the first.

```
  expect(["torch"]) ──► successor: import torch ──── Report ────► takes the orders from now on; new spare workers
                        first: goes on forking                     ends after the orders that it has
```
"""

from __future__ import annotations

import os
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Protocol

import msgspec

from nbaccel import roots
from nbaccel.local_engine.head.poll import Loop, Note
from nbaccel.local_engine.side_processes.zygote import Order, Report

RESTART_PAUSE_S = 0.5  # for one that died as soon as it lived


class Helper(Protocol):
    """One helper process, for the component that talks to it."""

    on_restart: Callable[[], None] | None

    @property
    def is_alive(self) -> bool: ...
    def send(self, body: bytes, fds: tuple[int, ...] = ()) -> None: ...
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

    def send(self, body: bytes, fds: tuple[int, ...] = ()) -> None:
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


_NOT_PRELOADED = ". Each task imports it anew."


class Zygotes:
    """The head's fork servers: its own, and one for each other interpreter prefix."""

    def __init__(
        self,
        loop: Loop,
        first: socket.socket,
        note: Note,
        *,
        arena_fd: int,
        preload: list[str],
        warn: Callable[[str, str], None],
        is_stopping: Callable[[], bool],
        replaced: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._note = note
        self._arena_fd = arena_fd
        self._warn = warn  # sends every driver a notice (kind, message)
        self._is_stopping = is_stopping
        self._replaced = replaced  # called when a successor has taken the place of the head's own zygote
        self._socks: dict[str, socket.socket] = {}
        self._pythons: dict[str, str] = {"": sys.executable}
        self._waiting: dict[str, list[tuple[bytes, list[int]]]] = {}
        self._born: dict[str, float] = {}
        self._pausing: set[str] = set()
        self.generation: dict[str, int] = {}  # how many zygotes have been started
        self.preloaded: dict[str, str] = {}
        self._preload = list(preload)
        self._expected: list[str] = []  # modules that no zygote has begun to import
        self._successor: socket.socket | None = None
        self._coming: list[str] = []  # what the successor imports
        self._given_up: set[str] = set()
        self._adopt("", first)

    def _adopt(self, key: str, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._socks[key] = sock
        self._born[key] = self._loop.now()
        self.generation[key] = self.generation.get(key, 0) + 1
        self._loop.register(sock, lambda: self._readable(key))

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
                self._loop.want_write(sock, lambda: self._write(key))
                return
            except OSError:
                return  # it has died: the next read shows that, and its successor gets the order
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
        except (ValueError, RecursionError) as error:  # msgspec's errors
            self._note(f"the zygote sent a message that cannot be read: {error}")
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
            self._warn("preload", f"{why}{_NOT_PRELOADED}")
        self._preload = [name for name in self._preload if name not in bad]
        if any(why.startswith("importing") for why in bad.values()) and len(bad) == sum(
            why.startswith("importing") for why in bad.values()
        ):
            return
        self._loop.unregister(self._socks[""])
        self._socks.pop("").close()
        self._adopt("", self._execute(""))

    # ---- a successor

    def expect(self, modules: Sequence[str]) -> None:
        """Have modules that workers are likely to import imported in the background. Unlike those of `preload`, modules
        that cannot be are only noted: nobody has asked for them by name.
        """
        known = {*self._preload, *self.preloaded, *self._expected, *self._coming, *self._given_up}
        self._expected += [name for name in dict.fromkeys(modules) if name not in known]
        self._begin_successor()

    def _begin_successor(self) -> None:
        if self._successor is not None or not self._expected or self._is_stopping():
            return
        self._coming, self._expected = self._expected, []
        self._successor = self._execute("", self._coming)
        self._successor.setblocking(False)
        self._loop.register(self._successor, self._successor_came)

    def _successor_came(self) -> None:
        """The successor has imported its modules, or has ended."""
        sock, coming = self._successor, self._coming
        assert sock is not None
        try:
            report = msgspec.msgpack.decode(sock.recv(65536), type=Report)
        except BlockingIOError:
            return
        except (OSError, ValueError, RecursionError):  # it has ended; the others are msgspec's
            report = Report(dict.fromkeys(coming, "the fork server that imported it has ended"))
        self._loop.unregister(sock)
        self._successor, self._coming = None, []
        bad = {name: why for name, why in report.preloaded.items() if why}
        if bad:
            sock.close()
            self._note(f"not loaded beforehand: {'; '.join(bad.values())}")
            self._given_up.update(bad)
            self._expected += [name for name in coming if name not in bad]
        else:
            self._preload += coming
            self._take_over(sock)
        self._begin_successor()

    def _take_over(self, sock: socket.socket) -> None:
        before = self._socks.pop("", None)
        if before is not None:
            self._loop.unregister(before)
            before.close()  # it carries out what it has been sent, and then finds the end
        self._adopt("", sock)
        self._write("")
        self._replaced()

    def preloading_problems(self) -> list[str]:
        """What could not be preloaded, for those who begin after that was found."""
        return [f"{why}{_NOT_PRELOADED}" for why in self.preloaded.values() if why]

    def _died(self, key: str) -> None:
        sock = self._socks.pop(key)
        self._loop.unregister(sock)
        sock.close()
        if self._is_stopping():
            return
        self._note("the zygote ended and is started again")
        again_at = self._born[key] + RESTART_PAUSE_S
        if self._loop.now() < again_at:
            self._pausing.add(key)
            self._loop.at(again_at, lambda: self._restart(key))
        else:
            self._restart(key)

    def _restart(self, key: str) -> None:
        self._pausing.discard(key)
        if not self._is_stopping() and key not in self._socks:  # a successor may have come meanwhile
            self._adopt(key, self._execute(key))
            self._write(key)

    def _execute(self, key: str, beside: Sequence[str] = ()) -> socket.socket:
        """Start a zygote by exec: after the first has died, as its successor, or for another interpreter."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        arena_fd = self._arena_fd
        preload = [*self._preload, *beside] if key == "" else []
        code = (
            f"import sys; sys.path.insert(0, {roots.SYS_PATH_ENTRY!r}); "
            "from nbaccel.local_engine.side_processes.zygote import main; "
            f"main({theirs.fileno()}, {os.getpid()}, {arena_fd}, {preload!r})"
        )
        import subprocess  # most heads never need another

        try:
            subprocess.Popen([self._pythons[key], "-c", code], pass_fds=[theirs.fileno(), arena_fd]).returncode = 0
        except OSError as error:  # no process can be made, or the interpreter is gone: try again later
            self._note(f"the zygote cannot be started with {self._pythons[key]}: {error}")
        theirs.close()
        return ours

    def close(self) -> None:
        for sock in [*self._socks.values(), *([self._successor] if self._successor is not None else [])]:
            self._loop.unregister(sock)
            sock.close()
        self._socks.clear()
        self._successor = None


def _copies(fds: list[int]) -> list[int]:
    """Of all or of none."""
    with ExitStack() as undo:
        made = []
        for fd in fds:
            made.append(os.dup(fd))
            undo.callback(os.close, made[-1])
        undo.pop_all()
    return made
