"""News: what the head says on a driver's second connection, and what it is asked there."""

from __future__ import annotations

from nbaccel.local_engine.wire.message_fields import Message


class Lines(Message):
    """Output of a worker: whole lines of one stream."""

    name: str
    pid: int
    stream: int  # 1 stdout, 2 stderr
    text: bytes
    cell: str = ""
    parent: bytes = b""
    job: int = 0
    task_id: bytes = b""


class NoticeMessage(Message, tag="Notice"):
    """One line for the user: an infeasible demand, a deadlock, an alert."""

    kind: str
    message: str
    cell: str = ""
    parent: bytes = b""
    task_id: bytes = b""


class SnapshotMessage(Message, tag="Snapshot"):
    """A snapshot, msgpack."""

    body: bytes


class LogsDrained(Message):
    """Everything that this job's workers printed has been sent."""


class Watch(Message):
    """Send snapshots from now on (or stop)."""

    on: bool
    metrics: bool = True
    rows: int = 0  # wanted rows of tasks in each state (running, waiting, ended); 0: the head decides
