"""Delivers values: each process that asked for one, waits for it or made its id is sent it when it is ready."""

from __future__ import annotations

from collections.abc import Callable

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Peer
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.objects.tables import ObjectContext, ObjectRecord
from nbaccel.local_engine.wire import failures

PUSH_BYTES = 16_384  # results up to this size go to their submitter unasked
_NO_REFUSALS: dict[bytes, str] = {}
Fill = Callable[[bytes, wire.Value, list[bytes], int], None]  # id, value, refs inside, owner


# ---- one value to one process


def give(context: ObjectContext, id: bytes, client_id: int, refused: dict[bytes, str] = _NO_REFUSALS) -> wire.Value:
    """Prepare a value for a process."""
    if id in refused:
        return failures.failed("ObjectStoreFullError", refused[id])
    record = context.objects.records.get(id)
    if record is None or record.value is None:
        return failures.failed("ObjectLostError", f"Object {id.hex()} does not exist any more.")
    record.last_used = context.clock()
    if record.value.status != wire.OK:
        context.errors.read([id])
    if record.value.data is None:
        ledger.mapped(context.objects, id, client_id)
        if record.nodes is not None:
            record.nodes.add(context.node_of(client_id))  # its node has a copy now
    return record.value


def deliver(context: ObjectContext, id: bytes, peer: Peer) -> None:
    """Send a value to a process that asked for it, from disk too."""
    record = context.objects.records[id]
    if not record.spilled:
        context.send(peer, wire.ObjectValue(id, give(context, id, peer.client_id)))
        return

    def here() -> None:
        if not peer.closed and id in context.objects.records:
            deliver(context, id, peer)

    def refused(why: str) -> None:
        context.send(peer, wire.ObjectValue(id, failures.failed("ObjectStoreFullError", why)))

    context.store.when_here(id, peer.client_id, here, refused)


# ---- a new value to all who wait


def fill(context: ObjectContext, id: bytes, value: wire.Value, refs: list[bytes], owner: int) -> None:
    """A result is ready: send it to its submitter, and tell the processes that wait for it."""
    filled(context, id, ledger.fill(context.objects, id, value, refs), value, owner)


def filled(context: ObjectContext, id: bytes, record: ObjectRecord | None, value: wire.Value, owner: int) -> None:
    """The same for a value that the ledger has already; without a record nobody wants it."""
    if record is not None:
        _announce(context, id, record, value, owner)
    elif value.status != wire.OK:
        context.errors.gone([id])


def announce_again(context: ObjectContext, id: bytes, owner: int) -> None:
    """Tell everybody once more."""
    record = context.objects.records.get(id)
    if record is not None and record.value is not None:
        _announce(context, id, record, record.value, owner)


def _announce(context: ObjectContext, id: bytes, record: ObjectRecord, value: wire.Value, owner: int) -> None:
    """Clients take no harm from hearing of a value twice."""
    small = value.data is not None and len(value.data) <= PUSH_BYTES
    wanted, ready = record.wanted_by, record.ready_wanted_by
    if record.owner == owner and (wanted is None or owner not in wanted):
        peer = context.peers.get(owner)
        if peer is not None:
            context.send(peer, wire.ObjectValue(id, value) if small else wire.ObjectReady([id]))
    for client_id in wanted or ():
        peer = context.peers.get(client_id)
        if peer is not None and id in context.objects.records:
            deliver(context, id, peer)
    for client_id in ready or ():
        peer = context.peers.get(client_id)
        if peer is not None and client_id != owner:
            context.send(peer, wire.ObjectReady([id]))
    record.wanted_by = record.ready_wanted_by = None
    if record.pins:
        context.arrived(id, value)
