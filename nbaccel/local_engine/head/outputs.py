"""The head's side of its workers' output: keeps the pipes, takes the log process's lines and passes them on."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from nbaccel.local_engine.head.blocked_prints import BlockedPrints
from nbaccel.local_engine.head.last_lines import Unread
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.head.records import WorkerProcess
from nbaccel.local_engine.head.side_process import Helpers
from nbaccel.local_engine.side_processes import log


class Readers(Protocol):
    """Shows the lines to drivers."""

    def lines(self, worker: WorkerProcess, stream: int, pieces: list[log.Piece], then: Callable[[], None]) -> None: ...
    def forget_gates(self) -> None: ...


class _OutputPipe(Struct):
    """One pipe, and how far it has been read: all that a new log process needs."""

    worker: WorkerProcess
    number: int  # 1: stdout, 2: stderr
    fd: int
    path: str
    rest: bytes = b""
    owner: bytes = log.NO_OWNER
    written: int = 0


class Outputs:
    """The pipes of all workers of a head, living and dead."""

    def __init__(
        self, timers: LoopTimers, helpers: Helpers, directory: str, held: BlockedPrints, readers: Readers
    ) -> None:
        self._timers = timers
        self._readers = readers
        self._directory = os.path.join(directory, "logs")
        self._streams: dict[int, _OutputPipe] = {}
        self._unwatched: list[int] = []  # the log process has no descriptors for them
        self._next_pipe = 1
        self._next_drain = 1
        self._after_drain: dict[int, Callable[[], None]] = {}
        self._held = held
        self.taken_bytes = 0  # of all pipes, so far
        self.process = helpers.make("log", self._directory, decode=log.decode_report, on_report=self._reported)
        self.process.on_restart = self._tell_successor

    def open(self, worker: WorkerProcess) -> tuple[int, int]:
        """The write ends of a new worker's stdout and stderr."""
        ends = []
        for number, suffix in ((1, "out"), (2, "err")):
            read, write = os.pipe()
            os.set_blocking(read, False)
            path = os.path.join(self._directory, f"worker-{worker.worker_id.hex()[:16]}.{suffix}")
            pipe, self._next_pipe = self._next_pipe, self._next_pipe + 1
            self._streams[pipe] = _OutputPipe(worker, number, read, path)
            self._add(pipe)
            ends.append(write)
        return ends[0], ends[1]

    def _add(self, pipe: int) -> None:
        stream = self._streams[pipe]
        order = log.Add(pipe, stream.path, stream.rest, stream.owner, stream.written)
        self.process.say(log.encode(order), (stream.fd,))

    def _reported(self, report: Any) -> None:
        if type(report) is log.Chunk:
            self._take(report)
            return
        if type(report) is log.NoRoom:
            self._unwatched.append(report.pipe)
            return
        then = self._after_drain.pop(report.number, None)
        if then is not None:
            then()

    def _take(self, chunk: log.Chunk) -> None:
        """Remove lines from the pipe, after the head has received them."""
        stream = self._streams[chunk.pipe]
        left = chunk.taken
        self.taken_bytes += left
        while left:
            left -= len(os.read(stream.fd, left))
        stream.rest, stream.owner, stream.written = chunk.rest, chunk.owner, chunk.written
        if chunk.ended:
            os.close(stream.fd)
            del self._streams[chunk.pipe]
            self._timers.after(0, self._try_again)  # when the log process has closed it too
        if stream.number == 2:
            stream.worker.last_lines.add(chunk)
        waits = not chunk.ended

        def go() -> None:
            nonlocal waits
            waits = False
            self._go(chunk.pipe)

        self._readers.lines(stream.worker, stream.number, chunk.pieces, go)
        if waits:
            self._held.wait(chunk.pipe, stream.worker, stream.fd)

    def last_lines(self, worker: WorkerProcess) -> str:
        """The last lines that a dead worker has written to stderr for its last task, taken or not."""
        for stream in self._streams.values():
            if stream.worker is worker and stream.number == 2:
                with contextlib.suppress(OSError):  # no descriptors are left for a look into the pipe
                    for chunk in Unread(stream.fd, stream.rest, stream.owner).chunks():
                        worker.last_lines.add(chunk)
        return worker.last_lines.words()

    def _try_again(self) -> None:
        unwatched, self._unwatched = self._unwatched, []
        for pipe in unwatched:
            self._add(pipe)

    def _go(self, pipe: int) -> None:
        self._held.go(pipe)
        self.process.say(log.encode(log.Go(pipe)))

    def _tell_successor(self) -> None:
        """The log process died: tell the next one where the head stopped reading."""
        self._readers.forget_gates()
        self._held.go_all()
        self._unwatched.clear()
        for pipe in self._streams:
            self._add(pipe)
        for number in self._after_drain:
            self.process.say(log.encode(log.Drain(number)))

    def drain(self, then: Callable[[], None]) -> None:
        """Call a function once everything printed so far has been sent to the drivers."""
        if not self._streams:
            then()
            return
        number, self._next_drain = self._next_drain, self._next_drain + 1
        self._after_drain[number] = then
        self.process.say(log.encode(log.Drain(number)))
