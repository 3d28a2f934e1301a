"""The driver's second connection: it shows output of workers, notices and snapshots as they arrive.

A thread reads and shows them, so nothing here can delay a call. `nbaccel.views.sinks` decides where it is shown.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from nbaccel import exceptions
from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.stall_timer import StallTimer
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.views import sinks
from nbaccel.views.snapshot import OnSnapshot, Snapshot

if TYPE_CHECKING:
    from nbaccel.local_engine.driver.engine import Driver

_LOOK_S = 0.1  # between two looks whether lines still come


class _Reader(Struct, frozen=True):
    """Who reads snapshots, and what it asks for."""

    callback: OnSnapshot
    metrics: bool
    rows: int


class News:
    """Reads the news of one job."""

    def __init__(
        self, driver: Driver, *, log_to_driver: bool, sock: socket.socket | None = None, token: str = ""
    ) -> None:
        from nbaccel.local_engine.driver.engine import hello

        assert sock is not None
        self._show = log_to_driver
        self._job = driver.job
        self._drained = threading.Event()
        self._shown = 0  # messages with lines
        self._readers: dict[str, _Reader] = {}  # of snapshots, by name
        self._asking = threading.Lock()  # requests of two readers must not overtake each other
        self._ended = False  # there will be no further snapshot
        self.link = Link(sock, on_lost=lambda why: self._lost())
        receivers = self.link.receivers
        receivers[wire.Lines] = self._lines
        receivers[wire.NoticeMessage] = self._notice
        receivers[wire.SnapshotMessage] = self._snapshot
        receivers[wire.LogsDrained] = lambda message: self._drained.set()
        receivers[wire.Refused] = lambda message: self._drained.set()
        self.link.start("news")
        self.link.send(hello("news", token, None, driver.job))

    def _lines(self, message: wire.Lines) -> None:
        if self._show:
            sinks.installed.lines(
                sinks.Printed(message.name, message.pid, message.stream, message.text, message.parent)
            )
        self._shown += 1

    def _notice(self, message: wire.NoticeMessage) -> None:
        if message.kind == wire.UNREAD and os.environ.get("RAY_IGNORE_UNHANDLED_ERRORS") == "1":  # as for Ray's own
            return
        sinks.installed.notice(sinks.Notice(message.kind, message.message, message.parent, message.task_id))

    def _snapshot(self, message: wire.SnapshotMessage) -> None:
        readers = list(self._readers.values())
        if readers:
            snapshot = msgspec.msgpack.decode(message.body, type=Snapshot)
            snapshot.runtime.job = self._job
            for reader in readers:
                reader.callback(snapshot)

    def watch(self, callback: OnSnapshot | None, *, metrics: bool, rows: int, reader: str) -> None:
        """Call back with each snapshot from now on, and with None at the end, which may already have come.

        The head sends what all readers together ask for, and a snapshot at once for the new one.
        """
        with self._asking:
            if callback is None:
                self._readers.pop(reader, None)
            else:
                self._readers[reader] = _Reader(callback, metrics, rows)
            wanted = list(self._readers.values())
            if not self._ended:
                any_metrics = any(each.metrics for each in wanted)
                rows = max((each.rows for each in wanted), default=0)
                self.link.send(wire.Watch(bool(wanted), any_metrics, rows))
        if self._ended:
            self.stop_watching()

    def stop_watching(self) -> None:
        """The cluster ends: tell each reader once, and stop calling them."""
        self._ended = True
        while self._readers:
            with suppress(KeyError):  # another thread has taken the last one
                self._readers.popitem()[1].callback(None)

    def _lost(self) -> None:
        self._drained.set()
        self.stop_watching()

    def welcomed(self, timeout_s: float) -> None:
        """Wait until the head knows this connection: what it has to say to us is not lost when it is told to end."""
        with suppress(exceptions.RayError):
            self.link.ask(asks.Synchronise(), timeout_s=timeout_s)

    def await_lines(self, timeout_s: float) -> None:
        """Wait, at most so long, until everything that has been printed so far has been shown.

        The answer comes behind the lines, which a thread of this connection shows one after the other.
        """
        if self._show:
            with suppress(exceptions.RayError):
                self.link.ask(asks.AwaitOutput(), timeout_s=timeout_s)

    def drain(self, patience_s: float) -> None:
        """Wait until everything that was printed has been shown, or nothing more has been shown for `patience_s`."""
        stall = StallTimer(patience_s, time.monotonic(), lambda: self._shown)
        while not self._drained.wait(_LOOK_S) and not stall.is_over(time.monotonic()):
            pass

    def close(self) -> None:
        self.link.close()
