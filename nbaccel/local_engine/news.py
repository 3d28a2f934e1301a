"""The driver's second connection: what workers print, notices, and pictures, shown as they come.

A thread reads and shows; nothing here can hold up a call. Who shows what is decided by `sinks`, which the notebook room
replaces to bring every line to its cell.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from nbaccel.local_engine import wire
from nbaccel.local_engine.link import Link
from nbaccel.snapshot import Snapshot

if TYPE_CHECKING:
    from nbaccel.local_engine.driver import Driver

_CYAN, _RESET = "\x1b[36m", "\x1b[0m"


class News:
    """Reads the news of one job."""

    def __init__(
        self, driver: Driver, *, log_to_driver: bool, sock: socket.socket | None = None, token: str = ""
    ) -> None:
        from nbaccel.local_engine.driver import hello

        assert sock is not None
        self._show = log_to_driver
        self._drained = threading.Event()
        self._watcher: Callable[[Snapshot | None], None] | None = None
        self.link = Link(sock, on_lost=lambda why: self._lost())
        receivers = self.link.receivers
        receivers[wire.Lines] = self._lines
        receivers[wire.Notice] = self._notice
        receivers[wire.Picture] = self._picture
        receivers[wire.LogsDrained] = lambda message: self._drained.set()
        receivers[wire.Refused] = lambda message: self._drained.set()
        self.link.start("news")
        self.link.say(hello("news", token, None, driver.job))

    def _lines(self, message: wire.Lines) -> None:
        if self._show:
            sinks.lines(message)

    def _notice(self, message: wire.Notice) -> None:
        sinks.notice(message)

    def _picture(self, message: wire.Picture) -> None:
        watcher = self._watcher
        if watcher is not None:
            watcher(msgspec.msgpack.decode(message.body, type=Snapshot))

    def watch(self, callback: Callable[[Snapshot | None], None] | None, *, metrics: bool, rows: int) -> None:
        self._watcher = callback
        self.link.say(wire.Watch(callback is not None, metrics, rows))

    def stop_watching(self) -> None:
        """The cluster ends: the watcher hears it once, and no more."""
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher(None)

    def _lost(self) -> None:
        self._drained.set()
        self.stop_watching()

    def drain(self, timeout_s: float) -> None:
        """Wait until everything that was printed has been shown."""
        self._drained.wait(timeout_s)

    def close(self) -> None:
        self.link.close()


class Sinks:
    """Where lines and notices go. The terminal's way; a notebook installs its own."""

    def __init__(self) -> None:
        self._said: set[tuple[str, bytes]] = set()  # (kind, task that names the line)

    def lines(self, message: wire.Lines) -> None:
        """Print whole lines, each with Ray's prefix."""
        stream = sys.stdout if message.stream == 1 else sys.stderr
        prefix = f"({message.name} pid={message.pid})"
        if _is_terminal(stream):
            prefix = f"{_CYAN}{prefix}{_RESET}"
        text = message.text.decode("utf-8", "replace")
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        self._write(stream, "".join(f"{prefix} {line}\n" for line in lines))

    def notice(self, message: wire.Notice) -> None:
        """A line about work that waits is said again when it changes, to be drawn over; here lines only follow
        each other, so it is printed once.
        """
        line = (message.kind, message.task_id)
        if not message.message:
            self._said = {said for said in self._said if said[1] != message.task_id}
            return
        if message.task_id and line in self._said:
            return
        if message.task_id:
            self._said.add(line)
        self._write(sys.stderr, f"nbaccel: {message.message}\n")

    def _write(self, stream: Any, text: str) -> None:
        try:
            stream.write(text)
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # the stream is closed, or there is none (pythonw)


def _is_terminal(stream: Any) -> bool:
    wanted = os.environ.get("RAY_COLOR_PREFIX")
    if wanted is not None:
        return wanted == "1"
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


sinks = Sinks()


def install_sinks(new: Any) -> None:
    """Show lines and notices in another way."""
    global sinks
    sinks = new
