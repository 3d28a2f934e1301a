"""The objects' room of a head, with everything around it made up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Peer
from nbaccel.local_engine.head.objects import requests
from nbaccel.local_engine.head.objects.requests import GarbageRounds
from nbaccel.local_engine.head.objects.store import Store
from nbaccel.local_engine.head.objects.tables import Freed, ObjectContext, ObjectTables
from nbaccel.local_engine.side_processes import mover
from tests.local_engine.head.seams import Clock, MadeHelpers, Outbox, outbox

CAPACITY = 1 << 20


class Errors:
    """Which errors were asked for, and which nobody asked for."""

    def __init__(self) -> None:
        self.were_read: list[bytes] = []
        self.are_gone: list[bytes] = []

    def read(self, ids: list[bytes]) -> None:
        self.were_read += ids

    def gone(self, ids: list[bytes]) -> None:
        self.are_gone += ids


class MadeMemory:
    """A machine with as much memory as a test says, where another head may keep some ready."""

    def __init__(self) -> None:
        self.room = 1 << 30
        self.is_others_turn = False
        self.has_turn = False

    def room_bytes(self) -> int:
        return self.room

    def take_turn(self) -> bool:
        self.has_turn = not self.is_others_turn
        return self.has_turn

    def end_turn(self) -> None:
        self.has_turn = False


class Room:
    """What clients say goes in by `receive`; what they are told comes out by `out.taken`."""

    def __init__(self, out: Outbox, directory: Path, capacity: int = CAPACITY) -> None:
        self.memory = MadeMemory()
        self.notified: list[tuple[int, wire.PagesReady]] = []
        self.out, self.clock, self.helpers = out, Clock(), MadeHelpers()
        self.objects, self.errors = ObjectTables(), Errors()
        self.freed: list[Freed] = []
        self.arrived: list[bytes] = []
        self.garbage = GarbageRounds(self.clock, out.peers, out.send)
        self.store = Store(
            self.clock, self.objects, self.helpers, self.garbage,
            capacity=capacity, directory=str(directory), let_go=self.freed.append,
            memory=self.memory, notify_driver=lambda client, message: self.notified.append((client, message)),
        )  # fmt: skip
        self.garbage.on_over = self.store.make_room
        nothing: Any = None
        self.context = ObjectContext(
            objects=self.objects, scheduler=nothing, peers=out.peers, store=self.store, errors=self.errors,
            send=out.send, notify=nothing, clock=self.clock.now, unpin=nothing, node_of=nothing,
            arrived=lambda id, value: self.arrived.append(id),
        )  # fmt: skip
        self._handlers = requests.handlers(self.context)

    def receive(self, peer: Peer, message: Any) -> list[Any]:
        """What this peer is told at once."""
        self._handlers[type(message)](peer, message)
        return self.out.taken(peer.client_id)

    def put_large(self, peer: Peer, id: bytes, size: int) -> int:
        """Ask for room, and fill it; the offset."""
        said = self.receive(peer, wire.Allocate(1, size))
        (room,) = [message for message in said if type(message) is wire.Allocated]
        assert room.offset >= 0, room.message
        self.receive(peer, wire.Put(id, wire.Value(wire.OK, None, room.offset, size)))
        return int(room.offset)

    @property
    def mover(self) -> Any:
        return self.helpers.by_name["mover"]

    def orders_to_mover(self) -> list[Any]:
        """What the mover was told since the last look."""
        said, self.mover.said = self.mover.said, []
        return [mover.decode_order(body) for body in said]

    def mover_reports(self, order: Any, error: str = "") -> None:
        """The mover has carried out an order."""
        if isinstance(order, mover.Populate | mover.GiveBack):
            self.mover.report(mover.PagesDone(order.offset, order.size, error))
            return
        restored = isinstance(order, mover.Restore)
        self.mover.report(mover.Moved(order.object_id, order.path, restored, order.offset, error))


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with outbox() as out:
        yield Room(out, tmp_path)
