"""Delivers values: tells each process that asked for one, waits for it or made its id when it is ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Send
from nbaccel.local_engine.head.objects.delayed_sends import WhenHere
from nbaccel.local_engine.head.objects.ledger import ObjectRecord, Objects
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.wire import failures

PUSH_BYTES = 16_384  # results up to this size go to their submitter unasked
_NO_REFUSALS: dict[bytes, str] = {}
Fill = Callable[[bytes, wire.Value, list[bytes], int], None]  # id, value, refs inside, owner


class Errors(Protocol):
    """Keeps account of errors that have been read."""

    def read(self, ids: list[bytes]) -> None: ...
    def gone(self, ids: list[bytes]) -> None: ...


class Delivery:
    """Gives values to the processes that want them.

    `arrived` is called for each new value that a live task has as an argument, `copied` for each that a process maps.
    """

    def __init__(
        self,
        objects: Objects,
        peers: Mapping[int, Peer],
        send: Send,
        when_here: WhenHere,
        errors: Errors,
        *,
        arrived: Callable[[bytes, wire.Value], None],
        copied: Callable[[ObjectRecord, int], None],
        clock: Callable[[], float],
    ) -> None:
        self._objects = objects
        self._peers = peers
        self._send = send
        self._when_here = when_here
        self._errors = errors
        self._arrived = arrived
        self._copied = copied
        self._clock = clock

    # ---- one value to one process

    def give(self, id: bytes, client_id: int, refused: dict[bytes, str] = _NO_REFUSALS) -> wire.Value:
        """Prepare a value for a process."""
        if id in refused:
            return failures.failed("ObjectStoreFullError", refused[id])
        record = self._objects.records.get(id)
        if record is None or record.value is None:
            return failures.failed("ObjectLostError", f"Object {id.hex()} does not exist any more.")
        record.last_used = self._clock()
        if record.value.status != wire.OK:
            self._errors.read([id])
        if record.value.data is None:
            self._objects.mapped(id, client_id)
            if record.nodes is not None:
                self._copied(record, client_id)
        return record.value

    def deliver(self, id: bytes, peer: Peer) -> None:
        """Send a value to a process that asked for it, from disk too."""
        record = self._objects.records[id]
        if not record.spilled:
            self._send(peer, wire.ObjectValue(id, self.give(id, peer.client_id)))
            return

        def here() -> None:
            if not peer.closed and id in self._objects.records:
                self.deliver(id, peer)

        def refused(why: str) -> None:
            self._send(peer, wire.ObjectValue(id, failures.failed("ObjectStoreFullError", why)))

        self._when_here(id, peer.client_id, here, refused)

    # ---- a new value to all who wait

    def fill(self, id: bytes, value: wire.Value, refs: list[bytes], owner: int) -> None:
        """A result is ready: send it to its submitter, and tell the processes that wait for it."""
        self.filled(id, self._objects.fill(id, value, refs), value, owner)

    def filled(self, id: bytes, record: ObjectRecord | None, value: wire.Value, owner: int) -> None:
        """The same for a value that the ledger has already; without a record nobody wants it."""
        if record is not None:
            self._announce(id, record, value, owner)
        elif value.status != wire.OK:
            self._errors.gone([id])

    def announce_again(self, id: bytes, owner: int) -> None:
        """Tell everybody once more."""
        record = self._objects.records.get(id)
        if record is not None and record.value is not None:
            self._announce(id, record, record.value, owner)

    def _announce(self, id: bytes, record: ObjectRecord, value: wire.Value, owner: int) -> None:
        """Clients take no harm from hearing of a value twice."""
        small = value.data is not None and len(value.data) <= PUSH_BYTES
        wanted, ready = record.wanted_by, record.ready_wanted_by
        if record.owner == owner and (wanted is None or owner not in wanted):
            peer = self._peers.get(owner)
            if peer is not None:
                self._send(peer, wire.ObjectValue(id, value) if small else wire.ObjectReady([id]))
        for client_id in wanted or ():
            peer = self._peers.get(client_id)
            if peer is not None and id in self._objects.records:
                self.deliver(id, peer)
        for client_id in ready or ():
            peer = self._peers.get(client_id)
            if peer is not None and client_id != owner:
                self._send(peer, wire.ObjectReady([id]))
        record.wanted_by = record.ready_wanted_by = None
        if record.pins:
            self._arrived(id, value)
