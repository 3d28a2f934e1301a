"""The tables of what one head knows of objects, and what functions about objects act through.

`ledger.check` asserts what stands beside the fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec
from msgspec import Struct, field

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Peer, Send
from nbaccel.local_engine.head.decisions import Notify
from nbaccel.local_engine.head.records import TaskEntry
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import Task


class ObjectRecord(msgspec.Struct):
    """One object. `owner` is the client that made its id; -1 when that client has let go of it."""

    owner: int
    value: wire.Value | None = None
    holders: set[int] | None = None  # other clients
    pins: int = 0  # live tasks and containers
    contains: list[bytes] | None = None
    mappers: dict[int, int] | None = None  # client -> mappings
    wanted_by: set[int] | None = None  # the value
    ready_wanted_by: set[int] | None = None  # only to know that it is there
    spilled: str = ""  # the file that holds it
    spilling: bool = False
    kept: int = 0  # tasks that are about to be sent need it in the arena
    nodes: set[bytes] | None = None  # nodes that have its bytes; None if it cannot be lost
    last_used: float = 0.0


class Promise(ObjectRecord, frozen=True):  # type: ignore[misc]
    """All results that a client was promised together, as long as nothing else is known of them.

    It is frozen, so that nobody changes it for one of them and thereby for all.
    """


class Freed(msgspec.Struct):
    """What came free: arena offsets and spill files."""

    offsets: list[int] = []
    files: list[str] = []
    actors: list[bytes] = []  # whose last handle went
    placed: list[bytes] = []  # objects that the lineage knows of
    errors: list[bytes] = []  # that nobody holds any more


NOTHING_FREED = Freed()


class Maker(msgspec.Struct):
    """A task, which of its large results still live, and why it cannot run again; "" when it can."""

    task: Task
    results: set[bytes]
    why_not: str


class ObjectTables(msgspec.Struct, eq=False):
    """All objects of one head. Actors' handles are counted in the same way, under the actor's id."""

    # Every object that somebody holds, or that a task will give; one that nobody holds has no value.
    records: dict[bytes, ObjectRecord] = field(default_factory=dict)
    # Those of its ids that are actors: their records have no value, and are not freed here.
    actor_ids: set[bytes] = field(default_factory=set)
    # Client -> the ids of `records` that it owns or is a holder of (for its end).
    held_by: dict[int, set[bytes]] = field(default_factory=dict)
    # Client -> the one record that stands in `records` for all of its untouched results.
    promises: dict[int, Promise] = field(default_factory=dict)
    # Arena offset -> object: exactly the records whose value lies in the arena.
    stored: dict[int, bytes] = field(default_factory=dict)
    # Arena offset of a freed object -> who still maps it, and how often; none of them is in `stored`.
    orphans: dict[int, dict[int, int]] = field(default_factory=dict)
    # The freed object -> its offset: exactly those in `orphans`.
    orphan_of: dict[bytes, int] = field(default_factory=dict)
    # Objects that perhaps nobody holds any more: whoever takes what is freed looks at each of them first.
    unsure: dict[bytes, None] = field(default_factory=dict)
    # What came free since somebody took it.
    freed: Freed = field(default_factory=Freed)
    # Job -> refs that it pickled by hand; each is pinned once.
    pickled: dict[int, set[bytes]] = field(default_factory=dict)
    # Whether objects may be lost with their node: only then are `ObjectRecord.nodes` and `makers` kept.
    can_be_lost: bool = False
    # Task -> what is needed to run it again; each has at least one large result in `records`.
    makers: dict[bytes, Maker] = field(default_factory=dict)


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
    notify: Notify
    clock: Callable[[], float]
    arrived: Callable[[bytes, wire.Value], None]  # called for each new value that a live task has as an argument
    unpin: Callable[[TaskEntry, Task], None]  # lets go of a task's arguments
    node_of: Callable[[int], bytes]  # the node on which a client's process is
