"""The objects' room put together: what is sent of the objects in the ledger, and what clients say of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Send
from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.objects.delayed_sends import WhenHere
from nbaccel.local_engine.head.objects.delivery import Delivery, Errors
from nbaccel.local_engine.head.objects.ledger import Objects
from nbaccel.local_engine.head.objects.lineage import Lineage
from nbaccel.local_engine.head.objects.requests import Granting, ObjectRequests
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import TaskEntry
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import Task


class Keeping(Granting, Protocol):
    """The component that keeps large values; `when_here` continues once a value is in memory."""

    @property
    def when_here(self) -> WhenHere: ...


class ObjectRoom:
    """Everything that one head has for objects, wherever their bytes are."""

    def __init__(
        self,
        ledger: Objects,
        scheduler: Scheduler,
        peers: Mapping[int, Peer],
        store: Keeping,
        errors: Errors,
        send: Send,
        tell: Tell,
        *,
        arrived: Callable[[bytes, wire.Value], None],
        unpin: Callable[[TaskEntry, Task], None],
        node_of: Callable[[int], bytes],
        clock: Callable[[], float],
    ) -> None:
        self.delivery = Delivery(
            ledger,
            peers,
            send,
            store.when_here,
            errors,
            arrived=arrived,
            copied=lambda record, client_id: self.lineage.read(record, client_id),
            clock=clock,
        )
        self.lineage = Lineage(ledger, scheduler, tell, fill=self.delivery.fill, unpin=unpin, node_of=node_of)
        self.requests = ObjectRequests(ledger, store, self.delivery, send, read=errors.read, placed=self.lineage.placed)
