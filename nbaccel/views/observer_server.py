"""Answers observers inside a driver, for an engine that has no head of ours: its clusters belong to Ray.

```
  observers ──► driver.sock ──► a thread with a loop           reads and writes lines, and never waits for the cluster
                                   │ ▲
                                   ▼ │ one question after the other
                                a thread that answers          may wait for the cluster
  engine's watcher ─ snapshot ─────► the loop ──► each observer that watches: the newest that it has not read yet
```
The lines are those of `observer_lines`, and the driver's file is one of `sessions`. What only a head can do is refused
with a sentence. While user code keeps Python's lock, in a call into C for example, nothing is answered.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import hmac
import os
import queue
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from nbaccel import proc
from nbaccel.views import sessions
from nbaccel.views.observer_lines import (
    PROTOCOL,
    AddNode,
    AskPublisher,
    CancelTask,
    EndActor,
    ErrorLine,
    Explain,
    FindTasks,
    ObserverLine,
    ObserverQuestion,
    ReadAccounting,
    ReadLogs,
    ReadNotes,
    ReadReadings,
    ReadRows,
    ReadRuns,
    ReadStack,
    ReadTaskLog,
    Recycle,
    RemoveNode,
    RetryTask,
    SnapshotLine,
    StopHead,
    TakeSnapshot,
    WatchSnapshots,
    WelcomeLine,
    question_of,
)
from nbaccel.views.sessions import SessionRecord
from nbaccel.views.snapshot import DeviceRow, NodeRow, OnSnapshot, Snapshot, WorkerRow

if TYPE_CHECKING:
    from nbaccel.engine import Engine

MOST_LINE_BYTES = 1 << 16
MOST_OBSERVERS = 64
MOST_ROWS = 1000  # the most rows of tasks that a watcher may ask for
PATIENCE_S = 10.0  # for the token
CLOSING_S = 5.0
_REFUSED: dict[type[ObserverQuestion[Any]], str] = {
    ReadNotes: "A runtime of the {engine} engine has no head of nbaccel's, and so no log of one.",
    AddNode: "Nodes of the {engine} engine are added by the cluster itself, not by a notebook.",
    RemoveNode: "Nodes of the {engine} engine are removed by the cluster itself, not by a notebook.",
    StopHead: "This runtime is a notebook or script on the {engine} engine, and has no head that could end. Call "
    "nbaccel.shutdown() there, or shut down its kernel.",
}

Watch = Callable[[OnSnapshot | None, int], None]


@dataclass(frozen=True, slots=True)
class DriverFacts:
    """What the driver's file says of the process."""

    engine: str
    version: str
    python: str


@dataclass(slots=True, eq=False)
class _Watching:
    """One observer that watches: the newest snapshot that it has not been sent, and how many rows it asked for."""

    rows: int
    newest: bytes = b""
    writing: asyncio.Task[None] | None = None
    came: asyncio.Event = field(default_factory=asyncio.Event)

    def give(self, line: bytes) -> None:
        self.newest = line
        self.came.set()

    async def write_to(self, writer: asyncio.StreamWriter) -> None:
        """Write each snapshot that is newer; those that come while the observer reads slowly replace one another."""
        while True:
            await self.came.wait()
            self.came.clear()
            writer.write(self.newest)
            await writer.drain()


class ObserverServer:
    """The socket, the file and the two threads. `watch` has the engine call back with snapshots, or with None stop."""

    def __init__(self, engine: Engine, watch: Watch, facts: DriverFacts) -> None:
        self._answers = _answers_of(engine)
        self._watch = watch
        self._facts = facts
        self._pid = os.getpid()
        self._session = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(4).hex()}"
        self._token = os.urandom(16).hex()
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._ending = asyncio.Event()
        self._connected: set[asyncio.Task[None]] = set()
        self._watching: dict[asyncio.StreamWriter, _Watching] = {}
        self._rows = 0  # of the snapshots that the engine makes now
        self._last = b""  # the newest of them
        self._content = b""  # the same without its number and time
        self._threads: list[threading.Thread] = []
        self._record: SessionRecord | None = None
        self._file = ""

    def open(self) -> SessionRecord:
        """Listen, and leave the file by which observers find this process. Raises OSError."""
        directory = sessions.make_directory()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(os.path.join(directory, "driver.sock"))
            listener.listen()
            record = self._described(directory)
            self._file = sessions.publish(record)
        except OSError:
            listener.close()
            self._loop.close()
            shutil.rmtree(directory, ignore_errors=True)
            raise
        self._record = record
        for name, run in (("nbaccel-observers", lambda: self._serve(listener)), ("nbaccel-answers", self._work)):
            self._threads.append(threading.Thread(target=run, name=name, daemon=True))
            self._threads[-1].start()
        atexit.register(self.close)
        return record

    def close(self) -> None:
        """Withdraw the file, and end all connections. A second call does nothing."""
        record, self._record = self._record, None
        if record is None or os.getpid() != self._pid:  # a forked child that ends: the file is its parent's
            return
        atexit.unregister(self.close)
        with contextlib.suppress(OSError):  # a read-only disk: the next reader finds it stale
            os.unlink(self._file)
        self._in_loop(self._ending.set)
        self._jobs.put(None)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(CLOSING_S)  # a question that the cluster never answers must not keep shutdown() waiting
        shutil.rmtree(record.directory, ignore_errors=True)

    def _described(self, directory: str) -> SessionRecord:
        return SessionRecord(
            session=self._session,
            socket=os.path.join(directory, "driver.sock"),
            token=self._token,
            pid=self._pid,
            start_time=proc.stat(self._pid).start_ticks,
            boot_id=proc.boot_id(),
            directory=directory,
            title=sessions.title(),
            version=self._facts.version,
            python=self._facts.python,
            prefix=sys.prefix,
            started_at=time.time(),
            owner_pid=self._pid,
            protocol=PROTOCOL,
            engine=self._facts.engine,
        )

    # ---- the two threads

    def _serve(self, listener: socket.socket) -> None:
        try:
            self._loop.run_until_complete(self._accept(listener))
        finally:
            self._loop.close()

    async def _accept(self, listener: socket.socket) -> None:
        server = await asyncio.start_unix_server(self._come, sock=listener, limit=MOST_LINE_BYTES)
        await self._ending.wait()
        server.close()
        for task in self._connected:
            task.cancel()
        await asyncio.gather(*self._connected, return_exceptions=True)
        await asyncio.sleep(0)  # the loop closes what was aborted

    def _work(self) -> None:
        """Do one job after the other."""
        while (job := self._jobs.get()) is not None:
            job()

    def _in_loop(self, act: Callable[..., object], *args: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has been closed meanwhile
            self._loop.call_soon_threadsafe(act, *args)

    async def _answered(self, question: ObserverQuestion[Any]) -> ObserverLine:
        """The answer, from the thread that may wait."""
        answer: asyncio.Future[ObserverLine] = self._loop.create_future()

        def job() -> None:
            line = self._answer(question)
            self._in_loop(lambda: None if answer.done() else answer.set_result(line))

        self._jobs.put(job)
        return await answer

    def _answer(self, question: ObserverQuestion[Any]) -> ObserverLine:
        refused = _REFUSED.get(type(question))
        if refused is not None:
            return ErrorLine(refused.format(engine=self._facts.engine.capitalize()))
        try:
            return question.line(self._answers[type(question)](question))
        except Exception as error:  # the library of the cluster may raise anything; the observer is told what
            words = str(error) or "it gave no reason"
            return ErrorLine(words if isinstance(error, ValueError) else f"{type(error).__name__}: {words}")

    # ---- one observer

    async def _come(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connected.add(task)
        try:
            await self._converse(reader, writer)
        except OSError:
            pass  # it has gone
        except asyncio.CancelledError:  # this process leaves the cluster
            writer.transport.abort()
        finally:
            self._connected.discard(task)
            self._watch_no_more(writer)
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            why = await self._objection(reader, writer)
            if why:
                writer.write(ErrorLine(why).encoded())
                return
            writer.write(WelcomeLine(PROTOCOL, self._session).encoded())
            while line := await reader.readline():
                if line.strip():
                    await self._obey(line, writer)
                await writer.drain()
        except ValueError:  # of readline
            writer.write(ErrorLine(f"This line has more than {MOST_LINE_BYTES} bytes.").encoded())

    async def _objection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        """Why this connection may ask nothing; "" if it may."""
        sock = writer.get_extra_info("socket")
        credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        if int.from_bytes(credentials[4:8], sys.byteorder) not in (os.getuid(), 0):
            return f"This runtime belongs to user {os.getuid()}."
        if len(self._connected) > MOST_OBSERVERS:
            return f"{MOST_OBSERVERS} observers are connected already."
        try:
            async with asyncio.timeout(PATIENCE_S):
                line = await reader.readline()
        except TimeoutError:
            return f"The token was not shown within {PATIENCE_S:g} s."
        said = _object_of(line)
        token = said.get("token") if said is not None else None
        right = isinstance(token, str) and hmac.compare_digest(token.encode(), self._token.encode())
        return "" if right else "The token is missing or wrong."

    async def _obey(self, line: bytes, writer: asyncio.StreamWriter) -> None:
        request = _object_of(line)
        if request is None:
            writer.write(ErrorLine("This is not a line of JSON.").encoded())
            return
        if "ask" not in request:
            return  # of a later version
        try:
            question = question_of(request)
        except ValueError as error:
            writer.write(ErrorLine(str(error)).encoded())
            return
        if isinstance(question, WatchSnapshots):
            self._watch_no_more(writer)
            if question.on:
                self._begin_watching(writer, min(max(question.rows, 0), MOST_ROWS))
            return
        writer.write((await self._answered(question)).encoded())

    # ---- snapshots

    def _begin_watching(self, writer: asyncio.StreamWriter, rows: int) -> None:
        watching = self._watching[writer] = _Watching(rows)
        watching.writing = self._loop.create_task(_sent(watching, writer))
        if self._last and rows <= self._rows:
            watching.give(self._last)
        else:
            self._watch_anew()

    def _watch_no_more(self, writer: asyncio.StreamWriter) -> None:
        watching = self._watching.pop(writer, None)
        if watching is not None:
            assert watching.writing is not None
            watching.writing.cancel()
            if not self._watching:
                self._watch_anew()

    def _watch_anew(self) -> None:
        """Have the engine make snapshots with as many rows as the most curious observer asked for, or none."""
        self._rows = rows = max((each.rows for each in self._watching.values()), default=0)
        self._last = self._content = b""
        callback = self._came if self._watching else None
        self._jobs.put(lambda: self._have_watched(callback, rows))

    def _have_watched(self, callback: OnSnapshot | None, rows: int) -> None:
        try:
            self._watch(callback, rows)
        except Exception:  # the library of the cluster may raise anything: observers see that nothing comes any more
            self._in_loop(self._end_connections)

    def _came(self, snapshot: Snapshot | None) -> None:
        """A snapshot from the engine's thread, or None at the end of the cluster."""
        if snapshot is None:
            self._in_loop(self._end_connections)
            return
        content = msgspec.json.encode(msgspec.structs.replace(snapshot, seq=0, time=0.0))
        self._in_loop(self._spread, content, SnapshotLine(snapshot).encoded())

    def _spread(self, content: bytes, line: bytes) -> None:
        """A quiet cluster sends nothing."""
        if self._watching and content != self._content:
            self._content, self._last = content, line
            for watching in self._watching.values():
                watching.give(line)

    def _end_connections(self) -> None:
        for task in self._connected:
            task.cancel()


async def _sent(watching: _Watching, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):  # the observer has gone; reading will show it
        await watching.write_to(writer)


def _object_of(line: bytes) -> dict[str, Any] | None:
    """The object that a line of JSON says, if it is one."""
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (ValueError, RecursionError):
        return None


def _whole(engine: Engine) -> Snapshot:
    """A snapshot with a row of every node, device and worker."""
    nodes, devices = engine.state(NodeRow, sys.maxsize), engine.state(DeviceRow, sys.maxsize)
    workers = engine.state(WorkerRow, sys.maxsize)
    return msgspec.structs.replace(engine.snapshot(), nodes=nodes, devices=devices, workers=workers)


def _answers_of(engine: Engine) -> dict[type[ObserverQuestion[Any]], Callable[[Any], Any]]:
    """How each question is answered."""
    of_the_past = (ReadRuns, ReadAccounting, ReadReadings, ReadRows, ReadTaskLog, ReadStack)
    return {
        TakeSnapshot: lambda asked: _whole(engine) if asked.whole else engine.snapshot(),
        Explain: lambda asked: engine.explain(asked.task_id),
        FindTasks: lambda asked: engine.tasks(asked.filter),
        ReadLogs: lambda asked: engine.logs(asked.task_id, tail=asked.tail),
        CancelTask: lambda asked: engine.cancel_by_id(asked.task_id, force=asked.force),
        RetryTask: lambda asked: engine.retry(asked.task_id),
        EndActor: lambda asked: engine.kill_by_id(asked.actor_id),
        AskPublisher: lambda asked: engine.ask(asked.id, asked.what),
        Recycle: lambda asked: engine.recycle(),
        **dict.fromkeys(of_the_past, lambda asked: engine.history(asked)),
    }
