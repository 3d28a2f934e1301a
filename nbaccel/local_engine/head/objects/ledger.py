"""Where each value is, who refers to it, and when it can be freed: what happens to the tables of objects.

An object lives while a process holds a ref to it, a live task has it as an argument, or another object contains a
ref to it. Its bytes in the arena live on while a process maps them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.objects.tables import NOTHING_FREED, Freed, ObjectRecord, ObjectTables, Promise


def own(objects: ObjectTables, id: bytes) -> ObjectRecord | None:
    """The record of an object, to be changed: a promised result gets one of its own."""
    record = objects.records.get(id)
    if type(record) is Promise:
        record = objects.records[id] = ObjectRecord(record.owner)
    return record


# ---- coming into being


def promise(objects: ObjectTables, id: bytes, owner: int) -> ObjectRecord:
    """A result that a task will give; its submitter holds it."""
    record = objects.records.get(id)
    if record is None:
        record = objects.records[id] = ObjectRecord(owner)
        held = objects.held_by.get(owner)
        if held is None:
            held = objects.held_by[owner] = set()
        held.add(id)
    return record


def promise_all(objects: ObjectTables, ids: list[bytes], owner: int) -> None:
    """The results of several tasks."""
    if not objects.records.keys().isdisjoint(ids):
        for id in ids:
            promise(objects, id, owner)
        return
    shared = objects.promises.get(owner)
    if shared is None:
        shared = objects.promises[owner] = Promise(owner)
    objects.records |= dict.fromkeys(ids, shared)
    objects.held_by.setdefault(owner, set()).update(ids)


def fill(objects: ObjectTables, id: bytes, value: wire.Value, refs: list[bytes]) -> ObjectRecord | None:
    """The value is there. None when nobody wants it any more (it is dropped). May be said twice of one value."""
    record = own(objects, id)
    if record is not None and record.value is value:
        _maybe_free(objects, id, record)
        return record
    if record is None or record.value is not None:
        if value.data is None:
            objects.freed.offsets.append(value.offset)
        return None
    if refs:
        pin(objects, refs)
    record.value = value
    if value.data is None:
        objects.stored[value.offset] = id
    if refs:
        record.contains = refs
    _maybe_free(objects, id, record)
    return record


def fill_plainly(objects: ObjectTables, id: bytes, value: wire.Value, owner: int) -> bool:
    """An inline value without refs is there, if nobody but its owner has ever been interested in it."""
    record = objects.records.get(id)
    if type(record) is Promise and record.owner == owner:
        objects.records[id] = ObjectRecord(owner, value)
        return True
    if record is None or record.value is not None or record.owner != owner or record.pins:
        return False
    if record.wanted_by is not None or record.ready_wanted_by is not None:
        return False
    record.value = value
    return True


def fill_all(objects: ObjectTables, values: dict[bytes, wire.Value], owner: int) -> None:
    """Inline values without refs are there, of which nobody but their owner can know yet."""
    if not objects.records.keys().isdisjoint(values):
        for id, value in values.items():
            promise(objects, id, owner)
            fill(objects, id, value, [])
        return
    objects.records |= {id: ObjectRecord(owner, value) for id, value in values.items()}
    objects.held_by.setdefault(owner, set()).update(values)


def drop(objects: ObjectTables, value: wire.Value) -> None:
    """A value that nobody waits for any more."""
    if value.data is None:
        objects.freed.offsets.append(value.offset)


def empty(objects: ObjectTables, id: bytes) -> None:
    """Forget a value, because its task runs again."""
    record = objects.records.get(id)
    if record is not None and record.value is not None:
        _drop_value(objects, id, record)
        record.value = record.mappers = None
        contains, record.contains = record.contains, None
        if contains:
            unpin(objects, contains)


# ---- holding


def hold(objects: ObjectTables, id: bytes, client: int) -> None:
    record = own(objects, id)
    if record is None:
        return  # it has gone already: the reader learns that it is lost
    if record.owner != client:
        if record.holders is None:
            record.holders = set()
        record.holders.add(client)
    objects.held_by.setdefault(client, set()).add(id)


def release(objects: ObjectTables, id: bytes, client: int) -> None:
    record = objects.records.get(id)
    if type(record) is Promise:
        record = own(objects, id)
    held = objects.held_by.get(client)
    if held is not None:
        held.discard(id)
    if record is None:
        return
    _let_go(objects, id, record, client)


def _let_go(objects: ObjectTables, id: bytes, record: ObjectRecord, client: int) -> None:
    """A client neither owns nor holds this object any more."""
    if record.owner == client:
        record.owner = -1
    elif record.holders is not None:
        record.holders.discard(client)
    _maybe_free(objects, id, record)


def pin(objects: ObjectTables, ids: Iterable[bytes]) -> None:
    for id in ids:
        record = own(objects, id)
        if record is not None:
            record.pins += 1


def unpin(objects: ObjectTables, ids: Iterable[bytes]) -> None:
    unpin_later(objects, ids)
    _free_unheld(objects)


def unpin_later(objects: ObjectTables, ids: Iterable[bytes]) -> None:
    """The same, but what nobody holds any more goes with the next collection: nothing here can fail half-way."""
    for id in ids:
        record = own(objects, id)
        if record is not None:
            record.pins -= 1
            objects.unsure[id] = None


def _free_unheld(objects: ObjectTables) -> None:
    """Look at those that may be held no more; whom an exception keeps from it are looked at next time."""
    while objects.unsure:
        id = next(iter(objects.unsure))
        record = objects.records.get(id)
        if record is not None:
            _maybe_free(objects, id, record)
        objects.unsure.pop(id, None)


def mapped(objects: ObjectTables, id: bytes, client: int) -> None:
    """A value in the arena was given to a client, which will map it."""
    record = objects.records[id]
    if record.mappers is None:
        record.mappers = {}
    record.mappers[client] = record.mappers.get(client, 0) + 1


def unmapped(objects: ObjectTables, id: bytes, client: int) -> None:
    record = objects.records.get(id)
    if record is not None and record.mappers and client in record.mappers:
        _decrease(record.mappers, client)
        return
    offset = objects.orphan_of.get(id)
    if offset is not None:
        _decrease(objects.orphans[offset], client)
        _maybe_free_orphan(objects, id, offset)


def client_gone(objects: ObjectTables, client: int) -> None:
    """A process has ended: release its refs and mappings."""
    for id in objects.held_by.get(client, ()):
        record = own(objects, id)
        if record is not None:
            _let_go(objects, id, record, client)
    objects.held_by.pop(client, None)
    objects.promises.pop(client, None)
    for record in _mapped_records(objects):
        if record.mappers:
            record.mappers.pop(client, None)
    for id, offset in list(objects.orphan_of.items()):
        objects.orphans[offset].pop(client, None)
        _maybe_free_orphan(objects, id, offset)


def _mapped_records(objects: ObjectTables) -> list[ObjectRecord]:
    return [objects.records[id] for id in objects.stored.values() if id in objects.records]


# ---- going


def is_held(objects: ObjectTables, record: ObjectRecord) -> bool:
    return record.owner >= 0 or record.pins > 0 or bool(record.holders)


def _maybe_free(objects: ObjectTables, id: bytes, record: ObjectRecord) -> None:
    if record.owner >= 0 or record.pins > 0 or record.holders:
        return
    if id in objects.actor_ids:
        objects.freed.actors.append(id)
        return
    if record.value is None and not record.spilled:
        if not record.wanted_by:  # still to come: its task is told by the head's look at `is_wanted`
            del objects.records[id]
        return
    _drop_value(objects, id, record)
    del objects.records[id]
    if record.value is not None and record.value.status != wire.OK:
        objects.freed.errors.append(id)
    if record.nodes is not None:
        objects.freed.placed.append(id)
    if record.contains:
        unpin(objects, record.contains)


def _drop_value(objects: ObjectTables, id: bytes, record: ObjectRecord) -> None:
    value = record.value
    if record.spilled:
        objects.freed.files.append(record.spilled)
        record.spilled = ""
    if value is None or value.data is not None:
        return
    if value.offset < 0:
        return  # spilled: nothing in the arena
    objects.stored.pop(value.offset, None)
    if record.mappers:
        objects.orphans[value.offset] = record.mappers
        objects.orphan_of[id] = value.offset
    else:
        objects.freed.offsets.append(value.offset)


def _maybe_free_orphan(objects: ObjectTables, id: bytes, offset: int) -> None:
    if not objects.orphans[offset]:
        del objects.orphans[offset]
        del objects.orphan_of[id]
        objects.freed.offsets.append(offset)


def take_freed(objects: ObjectTables) -> Freed | None:
    """What has come free since the last call."""
    if objects.unsure:
        _free_unheld(objects)
    freed = objects.freed
    if freed == NOTHING_FREED:
        return None
    objects.freed = Freed()
    return freed


def last_choice(objects: ObjectTables, ids: list[bytes]) -> None:
    """Only a notebook's history holds these: they leave memory first. Being used makes them as others."""
    for id in ids:
        record = own(objects, id)
        if record is not None:
            record.last_used = -1.0


def victims(objects: ObjectTables, need: int) -> list[bytes]:
    """Objects to spill, least recently used first, until `need` bytes would come free."""
    chosen: list[bytes] = []
    candidates = [
        (objects.records[id].last_used, id)
        for id in objects.stored.values()
        if not objects.records[id].mappers and not objects.records[id].spilling and not objects.records[id].kept
    ]
    for _used, id in sorted(candidates):
        value = objects.records[id].value
        assert value is not None
        chosen.append(id)
        need -= value.size
        if need <= 0:
            break
    return chosen


def let_go(objects: ObjectTables) -> Callable[[], None]:
    """Let the tables go, which may have been much fuller once, and return what fills them again."""
    held = [(table, list(table)) for table in objects.held_by.values()]
    records = list(objects.records.items())
    for table, _ in held:
        table.clear()
    objects.records.clear()

    def fill_again() -> None:
        objects.records.update(records)
        for table, ids in held:
            table.update(ids)

    return fill_again


def mapped_by_others(objects: ObjectTables, client: int) -> bool:
    """Whether any process but this one maps an object."""
    mappers = [record.mappers for record in _mapped_records(objects) if record.mappers]
    return any(other != client for table in (*mappers, *objects.orphans.values()) for other in table)


def check(objects: ObjectTables) -> None:
    """Assert what must always hold."""
    for offset, id in objects.stored.items():
        record = objects.records[id]
        assert record.value is not None and record.value.data is None and record.value.offset == offset
        assert offset not in objects.orphans
    assert sorted(objects.orphan_of.values()) == sorted(objects.orphans)
    for maker in objects.makers.values():
        assert maker.results and maker.results <= objects.records.keys(), maker
    for id, record in objects.records.items():
        assert record.pins >= 0, (id, record.pins)
        for client in (*(record.holders or ()), *((record.owner,) if record.owner >= 0 else ())):
            assert id in objects.held_by.get(client, ()), (id, client)
        assert id in objects.actor_ids or record.value is None or is_held(objects, record), id


def _decrease(counts: dict[int, int], key: int) -> None:
    left = counts.get(key, 0) - 1
    if left > 0:
        counts[key] = left
    else:
        counts.pop(key, None)
