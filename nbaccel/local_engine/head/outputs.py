"""The head's side of its workers' output: keeps the pipes, passes lines on, and reads the files where they stand.

Tasks that wait in print, because the driver that shows their output does not read. Other tasks get their CPUs.
```
  driver stopped ──► 4 MB of its lines wait ──► its pipes are not looked at ──► full ──► print blocks
                                                   └── PATIENCE_S later, and full ──► WorkerBlocked
  driver reads again ──► looked at ──► WorkerUnblocked
```
No line is lost. A task of a driver that never reads again waits forever, but delays nobody else.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import termios
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from nbaccel import stacks
from nbaccel.local_engine.head.connections import QuestionError, id_of
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.head.records import Unread, WorkerProcess, entry_of
from nbaccel.local_engine.head.side_process import Helpers
from nbaccel.local_engine.side_processes import log
from nbaccel.scheduling.events import WorkerBlocked, WorkerUnblocked
from nbaccel.views import sinks
from nbaccel.views.history.answers import PrintedText, TaskLogAnswer, fitted, printed, shares
from nbaccel.views.observer_lines import ReadStack, ReadTaskLog, Row
from nbaccel.views.stack_text import StackAnswer, of_users

if TYPE_CHECKING:
    from nbaccel.local_engine.head.decisions import Notify
    from nbaccel.scheduling.scheduler import Scheduler

PATIENCE_S = 1.0
# A pipe of 64 KiB has 16 pages, and a text that does not fit into the rest of a page begins a new one: it takes no more
# once it is half full.
FULL_BYTES = 1 << 15


class _BlockedPipe(Struct):
    worker: WorkerProcess
    fd: int  # of the pipe
    task: Any = None  # the worker whose CPU is lent


class BlockedPrints:
    """All pipes whose reader does not read."""

    def __init__(self, timers: LoopTimers, scheduler: Scheduler, notify: Notify) -> None:
        self._timers = timers
        self._scheduler = scheduler
        self._notify = notify
        self._held: dict[int, _BlockedPipe] = {}

    def wait(self, pipe: int, worker: WorkerProcess, fd: int) -> None:
        """Stop reading the pipe until `go`."""
        held = self._held[pipe] = _BlockedPipe(worker, fd)
        self._look_later(pipe, held)

    def go(self, pipe: int) -> None:
        """Read the pipe again: a task that waited in print goes on."""
        held = self._held.pop(pipe, None)
        if held is not None and held.task is not None and self._running(held) is held.task:
            self._notify(WorkerUnblocked(held.worker.worker_id))

    def go_all(self) -> None:
        for pipe in list(self._held):
            self.go(pipe)

    def _look_later(self, pipe: int, held: _BlockedPipe) -> None:
        self._timers.after(PATIENCE_S, lambda: self._look(pipe, held))

    def _look(self, pipe: int, held: _BlockedPipe) -> None:
        if self._held.get(pipe) is not held or held.worker.ended:
            return
        task = self._running(held)
        if task is not held.task:  # it could end, or another has begun: lend once for each
            held.task = task if task is not None and _bytes_in(held.fd) >= FULL_BYTES else None
            if held.task is not None:
                self._notify(WorkerBlocked(held.worker.worker_id))
        self._look_later(pipe, held)

    def _running(self, held: _BlockedPipe) -> Any:
        """The plain task that the worker runs. An actor is not counted, because it always keeps its CPUs."""
        record = self._scheduler.worker_record(held.worker.worker_id)
        return record.queue[0] if record is not None and record.queue and record.actor is None else None


def _bytes_in(fd: int) -> int:
    waiting = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, waiting)
    return waiting[0]


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
        self.process.on_restart = self._notify_successor

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
        self.process.send(log.encode(order), (stream.fd,))

    def _reported(self, report: Any) -> None:
        if type(report) is log.Chunk:
            self._take(report)
            return
        if type(report) is log.NoSpace:
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
        self.process.send(log.encode(log.Go(pipe)))

    def _notify_successor(self) -> None:
        """The log process died: tell the next one where the head stopped reading."""
        self._readers.forget_gates()
        self._held.go_all()
        self._unwatched.clear()
        for pipe in self._streams:
            self._add(pipe)
        for number in self._after_drain:
            self.process.send(log.encode(log.Drain(number)))

    def drain(self, then: Callable[[], None]) -> None:
        """Call a function once everything printed so far has been sent to the drivers."""
        if not self._streams:
            then()
            return
        number, self._next_drain = self._next_drain, self._next_drain + 1
        self._after_drain[number] = then
        self.process.send(log.encode(log.Drain(number)))


MOST_TRACEBACK_BYTES = 2_000_000  # of all tasks together


class Tracebacks:
    """The tracebacks of the newest failures: a fixed amount of memory."""

    def __init__(self, most_bytes: int = MOST_TRACEBACK_BYTES) -> None:
        self._most_bytes = most_bytes
        self._texts: dict[bytes, bytes] = {}
        self._size_bytes = 0

    def keep(self, task_id: bytes, traceback: str) -> None:
        """Keep this traceback, and let go of the oldest ones if there are too many."""
        text = traceback.encode("utf-8", "backslashreplace")
        self._size_bytes += len(text) - len(self._texts.pop(task_id, b""))
        self._texts[task_id] = text
        while self._size_bytes > self._most_bytes:
            self._size_bytes -= len(self._texts.pop(next(iter(self._texts))))

    def of(self, task_id: bytes) -> str:
        """The traceback of a task, "" if none is kept."""
        return self._texts.get(task_id, b"").decode()


class TaskLogs:
    """Answers for one head.

    `directory` has the files of the log process. It is None if tasks print elsewhere, as `note` says.
    """

    def __init__(
        self,
        directory: str | None,
        record_of: Callable[[bytes], Any],
        tracebacks: Tracebacks,
        pid_of: Callable[[bytes], int | None],
        note: str = "",
    ) -> None:
        self._directory = os.path.join(directory, "logs") if directory is not None else None
        self._record_of = record_of
        self._tracebacks = tracebacks
        self._pid_of = pid_of
        self._note = note

    def answers(self) -> list[Row[Any]]:
        """The row of a table of questions."""
        return [ReadTaskLog.answered_by(lambda peer, asked: self.answer(asked))]

    def answer(self, asked: ReadTaskLog) -> TaskLogAnswer:
        """What a task has printed since the asked offsets. Raises Refusal."""
        record = self._record_of(id_of(asked.task_id, "a task")[:24])
        if record is None:
            raise QuestionError(
                "ValueError", f"The head does not know task {asked.task_id}: it ended long ago or never existed."
            )
        entry = entry_of(record.task)
        answer = TaskLogAnswer(0.0, bool(record.over), note=self._note)
        answer.pid = self._pid_of(entry.worker_id) if entry.worker_id else None
        if record.over and entry.failed:
            answer.failure = self._tracebacks.of(record.task.task_id) or entry.note
        since = max(asked.out_since, 0), max(asked.err_since, 0)
        return fitted(answer, lambda most: self._read(entry.worker_id, since, most), is_first=not any(since))

    def _read(self, worker_id: bytes, since: tuple[int, int], most: int) -> tuple[PrintedText, PrintedText]:
        if self._directory is None or not worker_id:
            return PrintedText(), PrintedText()
        paths = [os.path.join(self._directory, f"worker-{worker_id.hex()[:16]}.{end}") for end in ("out", "err")]
        sizes = [_size(path) for path in paths]
        counts = shares(max(sizes[0] - since[0], 0), max(sizes[1] - since[1], 0), most)
        out, err = (_part(*given) for given in zip(paths, sizes, since, counts, strict=True))
        return out, err


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0  # it has printed nothing


def _part(path: str, size: int, since: int, count: int) -> PrintedText:
    """The last bytes of a file, of those after `since`."""
    if not count:
        return PrintedText("", since)
    with open(path, "rb") as file:
        file.seek(size - count)
        return printed(file.read(count), size - count, since)


_STACK_PAUSE_S = 0.02


def answer_stack(asked: ReadStack, workers: Container[int]) -> StackAnswer:
    """Where a worker stands. The first question asks it, and a later one reads what it has written."""
    if asked.pid not in workers:
        return StackAnswer()
    if asked.since < 0:
        since = stacks.ask(asked.pid)
        return StackAnswer() if since is None else StackAnswer("", since, _STACK_PAUSE_S)
    written = stacks.answer(asked.pid, asked.since)
    return StackAnswer(of_users(written), asked.since, 0.0 if written else _STACK_PAUSE_S)


_TAIL_BYTES = 1 << 20


class WorkerLogs:
    """Reads the files that the log process writes."""

    def __init__(self, directory: str, worker_of: Callable[[bytes], bytes | None]) -> None:
        self._directory = os.path.join(directory, "logs")
        self._worker_of = worker_of  # the worker that runs or ran a task; None for an unknown task

    def tail(self, task_id: str | None, count: int) -> str:
        """The last lines that a task's worker (or any worker) has printed. Raises Refusal."""
        worker_id = ""
        if task_id:
            worker = self._worker_of(id_of(task_id, "a task"))
            if worker is None:
                raise QuestionError(
                    "ValueError", f"The head does not know task {task_id}: it ended long ago or never existed."
                )
            worker_id = worker.hex()
        try:
            names = sorted(name for name in os.listdir(self._directory) if name.startswith(f"worker-{worker_id[:16]}"))
        except FileNotFoundError:
            return ""
        lines: list[str] = []
        for name in names:
            lines += _tail(os.path.join(self._directory, name))
        return "\n".join(lines[-count:] if count > 0 else lines)


def _tail(path: str) -> list[str]:
    with open(path, "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(file.tell() - _TAIL_BYTES, 0))
        text = file.read().decode("utf-8", "replace").removesuffix("\n")
    return [sinks.last_frame(line) for line in text.split("\n")] if text else []
