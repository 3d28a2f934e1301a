"""Asks a head from outside, by JSON lines on its socket, as any program may."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from nbaccel.views import sessions
from nbaccel.views.observer_lines import (
    AddNode,
    CancelTask,
    DoneLine,
    EndActor,
    FindTasks,
    NotesLine,
    ObserverLine,
    ObserverQuestion,
    ReadNotes,
    RemoveNode,
    SnapshotLine,
    StopHead,
    TakeSnapshot,
    TasksLine,
    WatchSnapshots,
)
from nbaccel.views.sessions import SessionRecord
from nbaccel.views.snapshot import Snapshot
from nbaccel.views.task_filter import FoundTasks, TaskFilter

ANSWER_TIMEOUT_S = 20.0  # a head answers in milliseconds, and later on a machine that stands still now and then
L = TypeVar("L", bound=ObserverLine)


class Observer:
    """One connection to a head."""

    def __init__(self, record: SessionRecord) -> None:
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._sock.settimeout(ANSWER_TIMEOUT_S)
        try:
            self._sock.connect(record.socket)
        except OSError as error:
            self._sock.close()
            raise ConnectionError(
                f"The head of pid {record.pid} does not answer at {record.socket}: {error.strerror}."
            ) from error
        self._lines = self._sock.makefile("rb")
        try:
            welcome = self.ask({"token": record.token})
            if welcome["kind"] != "welcome":
                raise ConnectionError(f"The head of pid {record.pid} refused: {welcome.get('message', welcome)}")
        except BaseException:
            self.close()
            raise

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a line and return the line that answers it. Raises ConnectionError."""
        try:
            self._sock.sendall(msgspec.json.encode(request) + b"\n")
            return self.read()
        except TimeoutError:
            raise ConnectionError(f"The head has not answered within {ANSWER_TIMEOUT_S:g} s.") from None

    def answer(self, question: ObserverQuestion[Any], kind: type[L]) -> L:
        """The line that answers a question. Raises ValueError with the head's words, or ConnectionError."""
        answer = self.ask(msgspec.to_builtins(question))
        if answer["kind"] == "error":
            raise ValueError(answer["message"])
        return msgspec.convert(answer, kind)

    def read(self) -> dict[str, Any]:
        line = self._lines.readline()
        if not line:
            raise ConnectionError("The head closed the connection.")
        try:
            answer: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
        except (ValueError, RecursionError):  # msgspec raises this for bytes that are no JSON
            raise ConnectionError("The head's answer is not a line of JSON.") from None
        return answer

    def snapshots(self) -> Iterator[Snapshot]:
        """The snapshots that the head sends, from now on."""
        first = self.answer(WatchSnapshots(), SnapshotLine)
        self._sock.settimeout(None)
        yield first.snapshot
        while True:
            answer = self.read()
            if answer["kind"] == "snapshot":
                yield msgspec.convert(answer, SnapshotLine).snapshot

    def close(self) -> None:
        self._lines.close()
        self._sock.close()


@contextmanager
def connected(record: SessionRecord) -> Iterator[Observer]:
    observer = Observer(record)
    try:
        yield observer
    finally:
        observer.close()


def snapshot(record: SessionRecord, *, whole: bool = False) -> Snapshot:
    """A head's snapshot, `whole` with a row of every node, device and worker. Raises ConnectionError."""
    with connected(record) as observer:
        return observer.answer(TakeSnapshot(whole), SnapshotLine).snapshot


def tasks(record: SessionRecord, wanted: TaskFilter) -> FoundTasks:
    """A head's tasks that pass a filter, of all that it knows. Raises ConnectionError."""
    with connected(record) as observer:
        found = observer.answer(FindTasks(wanted), TasksLine)
    return FoundTasks(found.rows, found.total, found.functions)


def notes(record: SessionRecord) -> list[str]:
    """The last lines of a head's own log."""
    with connected(record) as observer:
        return observer.answer(ReadNotes(), NotesLine).notes


def end(record: SessionRecord, kind: str, id: str) -> None:
    """Cancel a "task", or end an "actor", by its hex id. Raises ConnectionError."""
    with connected(record) as observer:
        observer.answer(CancelTask(id) if kind == "task" else EndActor(id), DoneLine)


def add_node(record: SessionRecord, options: dict[str, Any]) -> str:
    """Have a head count another node; returns its id. Raises ValueError, ConnectionError."""
    with connected(record) as observer:
        return str(observer.answer(AddNode(options), DoneLine).node_id)


def remove_node(record: SessionRecord, node_id: str) -> None:
    """Have a head lose a node that was added. Raises ValueError, ConnectionError."""
    with connected(record) as observer:
        observer.answer(RemoveNode(node_id), DoneLine)


def stop(record: SessionRecord, *, force: bool = False, timeout_s: float = 30.0) -> bool:
    """Tell a head to end, and wait until it has."""
    try:
        with connected(record) as observer:
            observer.answer(StopHead(), DoneLine)
    except ConnectionError:
        if not force:
            raise
    if _gone(record, timeout_s):
        return True
    if force and not sessions.is_elsewhere(record):
        os.kill(record.pid, signal.SIGKILL)
        gone = _gone(record, timeout_s)
        sessions.find()  # removes the files that it left
        return gone
    return False


def _gone(record: SessionRecord, timeout_s: float) -> bool:
    """Wait for the end of the process, by its pidfd; in another PID namespace, until its socket accepts no more."""
    import select

    deadline = time.monotonic() + timeout_s
    if sessions.is_elsewhere(record):
        while sessions.is_alive(record) and time.monotonic() < deadline:
            time.sleep(0.05)
        return not sessions.is_alive(record)
    try:
        fd = os.pidfd_open(record.pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        poll.poll(max(deadline - time.monotonic(), 0) * 1000)
        return not sessions.is_alive(record)
    finally:
        os.close(fd)
