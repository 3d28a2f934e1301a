"""What clients say of objects: what they put, want, hold, let go of, and the room that they ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Handler, Send
from nbaccel.local_engine.head.objects.delivery import Delivery
from nbaccel.local_engine.head.objects.ledger import Objects
from nbaccel.local_engine.head.objects.store import Grant
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire import failures
from nbaccel.views.question import Row


class Granting(Protocol):
    """Who grants room for large values, and checks what is said to lie there."""

    @property
    def times_given_back(self) -> int: ...
    def allocate(self, client: int, request: int, size: int, answer: Grant) -> None: ...
    def give_up(self, offset: int, client: int, request: int) -> None: ...
    def filled(self, value: wire.Value, client: int) -> None: ...


class ObjectRequests:
    """Hears them."""

    def __init__(
        self,
        objects: Objects,
        store: Granting,
        delivery: Delivery,
        send: Send,
        *,
        read: Callable[[list[bytes]], None],
        placed: Callable[[bytes, bytes], None],
    ) -> None:
        self._objects = objects
        self._store = store
        self._delivery = delivery
        self._send = send
        self._read = read  # called with requested objects; their errors then count as read
        self._placed = placed  # called with an object and the node where it was made
        self._pinned: dict[int, set[bytes]] = {}  # job -> refs that it pickled by hand

    def handlers(self) -> dict[type, Handler]:
        """What drivers and workers may say."""
        return {
            wire.Put: self._put,
            wire.Want: self._want,
            wire.WantReady: self._want_ready,
            wire.AskedFor: lambda peer, m: self._read(m.ids),
            wire.Holds: self._holds,
            wire.Releases: self._releases,
            wire.Unmapped: self._unmapped,
            wire.Allocate: self._allocate,
            wire.GiveUp: lambda peer, m: self._store.give_up(m.offset, peer.client_id, m.request),
        }

    def answers(self) -> list[Row[Peer]]:
        """What may be asked of them."""
        return [
            asks.Pin.answered_by(self._pin),
            asks.MoveFirst.answered_by(lambda peer, asked: self._objects.last_choice(asked.ids)),
        ]

    def _pin(self, peer: Peer, asked: asks.Pin) -> None:
        """A ref was pickled outside of a task or value: it may come back at any time, so it is kept for the
        job's life.
        """
        pinned = self._pinned.setdefault(peer.job, set())
        if asked.id not in pinned:
            pinned.add(asked.id)
            self._objects.pin((asked.id,))

    def job_ended(self, job: int) -> None:
        """What it pickled by hand is let go."""
        self._objects.unpin(self._pinned.pop(job, ()))

    def _put(self, peer: Peer, message: wire.Put) -> None:
        self._store.filled(message.value, peer.client_id)
        self._objects.promise(message.object_id, peer.client_id)
        self._objects.fill(message.object_id, message.value, message.refs)
        if peer.worker is not None:
            self._placed(message.object_id, peer.worker.node_id)

    def _allocate(self, peer: Peer, message: wire.Allocate) -> None:
        def answer(offset: int, why: str) -> None:
            self._send(peer, wire.Allocated(message.request, offset, why, self._store.times_given_back))

        self._store.allocate(peer.client_id, message.request, message.size, answer)

    def _holds(self, peer: Peer, message: wire.Holds) -> None:
        for id in message.ids:
            self._objects.hold(id, peer.client_id)

    def _releases(self, peer: Peer, message: wire.Releases) -> None:
        for id in message.ids:
            self._objects.release(id, peer.client_id)

    def _unmapped(self, peer: Peer, message: wire.Unmapped) -> None:
        for id in message.object_ids:
            self._objects.unmapped(id, peer.client_id)

    def _want(self, peer: Peer, message: wire.Want) -> None:
        for id in message.object_ids:
            record = self._objects.own(id)
            if record is None:
                lost = failures.failed(
                    "ObjectLostError",
                    f"Object {id.hex()} does not exist any more: its last ref was released, or it is of a cluster that "
                    "has been shut down.",
                )
                self._send(peer, wire.ObjectValue(id, lost))
            elif record.value is None:
                if record.wanted_by is None:
                    record.wanted_by = set()
                record.wanted_by.add(peer.client_id)
            else:
                self._delivery.deliver(id, peer)

    def _want_ready(self, peer: Peer, message: wire.WantReady) -> None:
        there = []
        for id in message.object_ids:
            record = self._objects.own(id)
            if record is None or record.value is not None:
                there.append(id)
            else:
                if record.ready_wanted_by is None:
                    record.ready_wanted_by = set()
                record.ready_wanted_by.add(peer.client_id)
        if there:
            self._send(peer, wire.ObjectReady(there))
