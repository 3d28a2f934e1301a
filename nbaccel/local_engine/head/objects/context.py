"""What functions about objects act through: the tables, and the parts of the head around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Send
from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.objects.tables import ObjectTables
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import TaskEntry
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import Task

Grant = Callable[[int, str], None]  # (offset or -1, why not)
Refused = Callable[[str], None]


class Keeping(Protocol):
    """The component that keeps large values: it grants room for them, and checks what is said to lie there."""

    @property
    def times_given_back(self) -> int: ...
    def allocate(self, client: int, request: int, size: int, answer: Grant) -> None: ...
    def give_up(self, offset: int, client: int, request: int) -> None: ...
    def filled(self, value: wire.Value, client: int) -> None: ...
    def when_here(self, id: bytes, client: int, then: Callable[[], None], refused: Refused) -> None: ...


class Errors(Protocol):
    """Keeps account of errors that have been read."""

    def read(self, ids: list[bytes]) -> None: ...
    def gone(self, ids: list[bytes]) -> None: ...


class ObjectContext(Struct, kw_only=True, eq=False):
    """One head's objects, and what is done about them elsewhere."""

    objects: ObjectTables
    scheduler: Scheduler
    peers: Mapping[int, Peer]
    store: Keeping
    errors: Errors
    send: Send
    tell: Tell
    clock: Callable[[], float]
    arrived: Callable[[bytes, wire.Value], None]  # called for each new value that a live task has as an argument
    unpin: Callable[[TaskEntry, Task], None]  # lets go of a task's arguments
    node_of: Callable[[int], bytes]  # the node on which a client's process is
