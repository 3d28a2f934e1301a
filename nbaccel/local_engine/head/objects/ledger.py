"""The head's ledger of objects: where each value is, who refers to it, and when it can be freed.

An object lives while a process holds a ref to it, a live task has it as an argument, or another object contains a
ref to it. Its bytes in the arena live on while a process maps them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from nbaccel.local_engine import wire


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


class Objects:
    """All objects of one head. Actors' handles are counted in the same way, under the actor's id."""

    def __init__(self) -> None:
        self.records: dict[bytes, ObjectRecord] = {}
        self.actor_ids: set[bytes] = set()
        self.stored: dict[int, bytes] = {}  # arena offset -> object
        self.orphans: dict[int, dict[int, int]] = {}  # offset of a freed object -> who still maps it
        self._orphan_of: dict[bytes, int] = {}
        self.held_by: dict[int, set[bytes]] = {}  # client -> the objects that it holds (for its end)
        self.freed = Freed()
        self.unsure: dict[bytes, None] = {}  # objects that perhaps nobody holds any more
        self._promises: dict[int, Promise] = {}  # client -> what stands in `records` for its untouched results

    def own(self, id: bytes) -> ObjectRecord | None:
        """The record of an object, to be changed: a promised result gets one of its own."""
        record = self.records.get(id)
        if type(record) is Promise:
            record = self.records[id] = ObjectRecord(record.owner)
        return record

    # ---- coming into being

    def promise(self, id: bytes, owner: int) -> ObjectRecord:
        """A result that a task will give; its submitter holds it."""
        record = self.records.get(id)
        if record is None:
            record = self.records[id] = ObjectRecord(owner)
            held = self.held_by.get(owner)
            if held is None:
                held = self.held_by[owner] = set()
            held.add(id)
        return record

    def promise_all(self, ids: list[bytes], owner: int) -> None:
        """The results of several tasks."""
        if not self.records.keys().isdisjoint(ids):
            for id in ids:
                self.promise(id, owner)
            return
        promise = self._promises.get(owner)
        if promise is None:
            promise = self._promises[owner] = Promise(owner)
        self.records |= dict.fromkeys(ids, promise)
        self.held_by.setdefault(owner, set()).update(ids)

    def fill(self, id: bytes, value: wire.Value, refs: list[bytes]) -> ObjectRecord | None:
        """The value is there. None when nobody wants it any more (it is dropped). May be said twice of one value."""
        record = self.own(id)
        if record is not None and record.value is value:
            self._maybe_free(id, record)
            return record
        if record is None or record.value is not None:
            if value.data is None:
                self.freed.offsets.append(value.offset)
            return None
        if refs:
            self.pin(refs)
        record.value = value
        if value.data is None:
            self.stored[value.offset] = id
        if refs:
            record.contains = refs
        self._maybe_free(id, record)
        return record

    def fill_plainly(self, id: bytes, value: wire.Value, owner: int) -> bool:
        """An inline value without refs is there, if nobody but its owner has ever been interested in it."""
        record = self.records.get(id)
        if type(record) is Promise and record.owner == owner:
            self.records[id] = ObjectRecord(owner, value)
            return True
        if record is None or record.value is not None or record.owner != owner or record.pins:
            return False
        if record.wanted_by is not None or record.ready_wanted_by is not None:
            return False
        record.value = value
        return True

    def fill_all(self, values: dict[bytes, wire.Value], owner: int) -> None:
        """Inline values without refs are there, of which nobody but their owner can know yet."""
        if not self.records.keys().isdisjoint(values):
            for id, value in values.items():
                self.promise(id, owner)
                self.fill(id, value, [])
            return
        self.records |= {id: ObjectRecord(owner, value) for id, value in values.items()}
        self.held_by.setdefault(owner, set()).update(values)

    def drop(self, value: wire.Value) -> None:
        """A value that nobody waits for any more."""
        if value.data is None:
            self.freed.offsets.append(value.offset)

    def empty(self, id: bytes) -> None:
        """Forget a value, because its task runs again."""
        record = self.records.get(id)
        if record is not None and record.value is not None:
            self._drop_value(id, record)
            record.value = record.mappers = None
            contains, record.contains = record.contains, None
            if contains:
                self.unpin(contains)

    # ---- holding

    def hold(self, id: bytes, client: int) -> None:
        record = self.own(id)
        if record is None:
            return  # it has gone already: the reader learns that it is lost
        if record.owner != client:
            if record.holders is None:
                record.holders = set()
            record.holders.add(client)
        self.held_by.setdefault(client, set()).add(id)

    def release(self, id: bytes, client: int) -> None:
        record = self.records.get(id)
        if type(record) is Promise:
            record = self.own(id)
        held = self.held_by.get(client)
        if held is not None:
            held.discard(id)
        if record is None:
            return
        if record.owner == client:
            record.owner = -1
        elif record.holders is not None:
            record.holders.discard(client)
        self._maybe_free(id, record)

    def pin(self, ids: Iterable[bytes]) -> None:
        for id in ids:
            record = self.own(id)
            if record is not None:
                record.pins += 1

    def unpin(self, ids: Iterable[bytes]) -> None:
        self.unpin_later(ids)
        self._free_unheld()

    def unpin_later(self, ids: Iterable[bytes]) -> None:
        """The same, but what nobody holds any more goes with the next collection: nothing here can fail half-way."""
        for id in ids:
            record = self.own(id)
            if record is not None:
                record.pins -= 1
                self.unsure[id] = None

    def _free_unheld(self) -> None:
        """Look at those that may be held no more; whom an exception keeps from it are looked at next time."""
        while self.unsure:
            id = next(iter(self.unsure))
            record = self.records.get(id)
            if record is not None:
                self._maybe_free(id, record)
            self.unsure.pop(id, None)

    def mapped(self, id: bytes, client: int) -> None:
        """A value in the arena was given to a client, which will map it."""
        record = self.records[id]
        if record.mappers is None:
            record.mappers = {}
        record.mappers[client] = record.mappers.get(client, 0) + 1

    def unmapped(self, id: bytes, client: int) -> None:
        record = self.records.get(id)
        if record is not None and record.mappers and client in record.mappers:
            _decrease(record.mappers, client)
            return
        offset = self._orphan_of.get(id)
        if offset is not None:
            _decrease(self.orphans[offset], client)
            self._maybe_free_orphan(id, offset)

    def client_gone(self, client: int) -> None:
        """A process has ended: release its refs and mappings."""
        for id in self.held_by.get(client, ()):
            record = self.own(id)
            if record is None:
                continue
            if record.owner == client:
                record.owner = -1
            elif record.holders is not None:
                record.holders.discard(client)
            self._maybe_free(id, record)
        self.held_by.pop(client, None)
        self._promises.pop(client, None)
        for record in self._mapped_records():
            if record.mappers:
                record.mappers.pop(client, None)
        for id, offset in list(self._orphan_of.items()):
            self.orphans[offset].pop(client, None)
            self._maybe_free_orphan(id, offset)

    def _mapped_records(self) -> list[ObjectRecord]:
        return [self.records[id] for id in self.stored.values() if id in self.records]

    # ---- going

    def is_held(self, record: ObjectRecord) -> bool:
        return record.owner >= 0 or record.pins > 0 or bool(record.holders)

    def _maybe_free(self, id: bytes, record: ObjectRecord) -> None:
        if record.owner >= 0 or record.pins > 0 or record.holders:
            return
        if id in self.actor_ids:
            self.freed.actors.append(id)
            return
        if record.value is None and not record.spilled:
            if not record.wanted_by:  # still to come: its task is told by the head's look at `is_wanted`
                del self.records[id]
            return
        self._drop_value(id, record)
        del self.records[id]
        if record.value is not None and record.value.status != wire.OK:
            self.freed.errors.append(id)
        if record.nodes is not None:
            self.freed.placed.append(id)
        if record.contains:
            self.unpin(record.contains)

    def _drop_value(self, id: bytes, record: ObjectRecord) -> None:
        value = record.value
        if record.spilled:
            self.freed.files.append(record.spilled)
            record.spilled = ""
        if value is None or value.data is not None:
            return
        if value.offset < 0:
            return  # spilled: nothing in the arena
        self.stored.pop(value.offset, None)
        if record.mappers:
            self.orphans[value.offset] = record.mappers
            self._orphan_of[id] = value.offset
        else:
            self.freed.offsets.append(value.offset)

    def _maybe_free_orphan(self, id: bytes, offset: int) -> None:
        if not self.orphans[offset]:
            del self.orphans[offset]
            del self._orphan_of[id]
            self.freed.offsets.append(offset)

    def take_freed(self) -> Freed | None:
        """What has come free since the last call."""
        if self.unsure:
            self._free_unheld()
        freed = self.freed
        if freed == NOTHING_FREED:
            return None
        self.freed = Freed()
        return freed

    def last_choice(self, ids: list[bytes]) -> None:
        """Only a notebook's history holds these: they leave memory first. Being used makes them as others."""
        for id in ids:
            record = self.own(id)
            if record is not None:
                record.last_used = -1.0

    def victims(self, need: int) -> list[bytes]:
        """Objects to spill, least recently used first, until `need` bytes would come free."""
        chosen: list[bytes] = []
        candidates = [
            (self.records[id].last_used, id)
            for id in self.stored.values()
            if not self.records[id].mappers and not self.records[id].spilling and not self.records[id].kept
        ]
        for _used, id in sorted(candidates):
            value = self.records[id].value
            assert value is not None
            chosen.append(id)
            need -= value.size
            if need <= 0:
                break
        return chosen

    def let_go(self) -> Callable[[], None]:
        """Let the tables go, which may have been much fuller once, and return what fills them again."""
        held = [(table, list(table)) for table in self.held_by.values()]
        records = list(self.records.items())
        for table, _ in held:
            table.clear()
        self.records.clear()

        def fill_again() -> None:
            self.records.update(records)
            for table, ids in held:
                table.update(ids)

        return fill_again

    def mapped_by_others(self, client: int) -> bool:
        """Whether any process but this one maps an object."""
        mappers = [record.mappers for record in self._mapped_records() if record.mappers]
        return any(other != client for table in (*mappers, *self.orphans.values()) for other in table)

    def check(self) -> None:
        """Assert what must always hold."""
        for offset, id in self.stored.items():
            record = self.records[id]
            assert record.value is not None and record.value.data is None and record.value.offset == offset
            assert offset not in self.orphans
        for id, record in self.records.items():
            assert record.pins >= 0, (id, record.pins)
            assert id in self.actor_ids or record.value is None or self.is_held(record), id


def _decrease(counts: dict[int, int], key: int) -> None:
    left = counts.get(key, 0) - 1
    if left > 0:
        counts[key] = left
    else:
        counts.pop(key, None)
