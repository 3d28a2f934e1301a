"""The objects' room put together: the ledger, the store, what is sent from them, and what clients say of objects."""

from __future__ import annotations

from collections.abc import Callable

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.boot import Config
from nbaccel.local_engine.head.connections import Connections, Handler
from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.objects.delivery import Delivery, Errors
from nbaccel.local_engine.head.objects.garbage_rounds import GarbageRounds
from nbaccel.local_engine.head.objects.ledger import Freed, Objects
from nbaccel.local_engine.head.objects.lineage import Lineage
from nbaccel.local_engine.head.objects.requests import ObjectRequests
from nbaccel.local_engine.head.objects.store import Store
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.head.records import TaskEntry
from nbaccel.local_engine.head.side_process import Helpers
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import Task
from nbaccel.views.question import Row


class ObjectRoom:
    """Everything that one head has for objects."""

    def __init__(
        self,
        timers: LoopTimers,
        helpers: Helpers,
        config: Config,
        connections: Connections,
        ledger: Objects,
        scheduler: Scheduler,
        tell: Tell,
        errors: Errors,
        *,
        arrived: Callable[[bytes, wire.Value], None],
        unpin: Callable[[TaskEntry, Task], None],
        node_of: Callable[[int], bytes],
        let_go: Callable[[Freed], None],
    ) -> None:
        peers, send = connections.peers, connections.send
        self.garbage = GarbageRounds(timers, peers, send)
        self.store = Store(
            timers,
            ledger,
            helpers,
            self.garbage,
            capacity=config.arena_bytes,
            directory=config.directory,
            let_go=let_go,
        )
        self.garbage.on_over = self.store.make_room
        self.delivery = Delivery(
            ledger,
            peers,
            send,
            self.store.when_here,
            errors,
            arrived=arrived,
            copied=lambda record, client_id: self.lineage.read(record, client_id),
        )
        self.lineage = Lineage(ledger, scheduler, tell, fill=self.delivery.fill, unpin=unpin, node_of=node_of)
        self.requests = ObjectRequests(
            ledger, self.store, self.delivery, send, read=errors.read, placed=self.lineage.placed
        )

    def handlers(self) -> dict[type, Handler]:
        """What drivers and workers may say of objects."""
        return self.requests.handlers()

    def answers(self) -> list[Row[Peer]]:
        """What may be asked of objects."""
        answered = self.garbage.answered
        return [
            *self.requests.answers(),
            asks.GarbageCollected.answered_by(lambda peer, asked: answered(peer.client_id)),
        ]

    def client_gone(self, client_id: int) -> None:
        """What it was granted and had not filled is free again; nothing that it says of garbage is waited for."""
        self.garbage.answered(client_id)
        self.store.client_gone(client_id)
