"""The record of each Ray node that nbaccel has started on this machine, by which exactly its processes are found.

All processes of a node carry the node's name in an environment variable, which children inherit. `ray stop` looks for
names of programs instead, and ends the Rays of all users and jobs of a machine.
"""

from __future__ import annotations

import os
import select
import signal
import time
from pathlib import Path

import msgspec

from nbaccel import plain_files, proc
from nbaccel.views import sessions

MARK = "NBACCEL_RAY_NODE"  # the variable
ENDS_WITHIN_S = 60.0  # Ray drains the node first, and ends its processes one after the other
_LOOK_EVERY_S = 0.05
_MOST_BYTES = 65_536  # of a record, which has less than a thousand


class NodeRecord(msgspec.Struct):
    """One Ray node of this machine."""

    session: str  # its name, which its processes carry
    address: str  # of the cluster: "10.0.0.5:6379"
    pid: int  # of `ray start --block`, which ends the others when it ends
    start_time: int  # clock ticks since boot
    boot_id: str
    log: str
    is_head: bool = False
    node_type: str = ""
    token_file: str = ""
    started_at: float = 0.0  # Unix seconds
    pid_namespace: int = msgspec.field(default_factory=proc.pid_namespace)  # 0: not known

    @property
    def title(self) -> str:
        return f"the Ray head at {self.address}" if self.is_head else f"the Ray node of {self.address}"

    @property
    def shared(self) -> bool:
        """It belongs to no notebook."""
        return True


def directory() -> Path:
    """Where the records and the logs lie, which only this user can read."""
    folder = sessions.directory() / "nbaccel-ray"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def publish(record: NodeRecord) -> None:
    """Write the record. Raises OSError."""
    plain_files.write_private(_file(record.session), msgspec.json.encode(record))


def withdraw(record: NodeRecord) -> None:
    """Remove the record, the log and the autoscaler's file."""
    for path in (_file(record.session), Path(record.log)):
        path.unlink(missing_ok=True)
    if record.is_head:
        autoscaling_file(record.address).unlink(missing_ok=True)


def autoscaling_file(address: str) -> Path:
    """What the autoscaler of a head at this address reads, if it has one."""
    return directory() / f"autoscaling-{address.rpartition(':')[2]}.yaml"


def find() -> list[NodeRecord]:
    """The Ray nodes of this user on this machine, newest first. The records of ended ones are removed.

    Those of other PID namespaces are neither listed nor removed.
    """
    found = []
    for path in sorted((sessions.directory() / "nbaccel-ray").glob("*.json")):
        try:
            record = msgspec.json.decode(plain_files.read(path, _MOST_BYTES, private=True), type=NodeRecord)
        except (OSError, ValueError):
            continue
        if record.pid_namespace not in (0, proc.pid_namespace()):
            continue  # its processes cannot be seen from here
        if is_alive(record) or carriers(record.session):
            found.append(record)
        else:
            withdraw(record)
    return sorted(found, key=lambda record: -record.started_at)


def is_alive(record: NodeRecord) -> bool:
    """Whether the node's own process runs."""
    return proc.is_running(record.pid, record.start_time, record.boot_id)


def end(record: NodeRecord, *, force: bool = False) -> bool:
    """End the processes of this node and no others; return True once all have ended.

    The node leaves its cluster by itself, which takes seconds. One that does not within a minute is killed by `force`.
    """
    if not force:
        if is_alive(record):
            _signal(record.pid, record.session, signal.SIGTERM)
        if not _has_ended_within(record, ENDS_WITHIN_S):
            return False
    # What is left has no cluster any more: agents, which would look for it for a minute, and workers.
    while left := carriers(record.session):
        for pid in left:
            _signal(pid, record.session, signal.SIGKILL)
        time.sleep(_LOOK_EVERY_S)
    withdraw(record)
    return True


def carriers(name: str) -> list[int]:
    """The processes that belong to the node of this name."""
    return proc.started_with(MARK, name)


def _signal(pid: int, name: str, number: signal.Signals) -> None:
    """Ids are used again: the process is held while it is looked at once more."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if proc.was_started_with(pid, MARK, name):
            signal.pidfd_send_signal(process, number)
    except ProcessLookupError:
        pass
    finally:
        os.close(process)


def _has_ended_within(record: NodeRecord, timeout_s: float) -> bool:
    try:
        process = os.pidfd_open(record.pid)
    except ProcessLookupError:
        return True
    try:
        deadline = time.monotonic() + timeout_s
        while is_alive(record) and time.monotonic() < deadline:
            select.select([process], [], [], max(0.0, min(1.0, deadline - time.monotonic())))
        return not is_alive(record)
    finally:
        os.close(process)


def _file(name: str) -> Path:
    return directory() / f"{name}.json"
