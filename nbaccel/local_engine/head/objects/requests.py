"""What clients say of objects: what they put, want, hold and let go of; and the rounds in which all collect cycles.

When the store fills up, all processes collect cycles: a ref that only a cycle keeps alive still keeps its object.
```
  store more than FILLED full ──► CollectGarbage to all drivers and workers, at most every PAUSE_S
  a store that cannot give room ──► the same at once; who asked waits until all have answered ──► spill, refuse
  work that waits for what actors hold ──► the same, for at most SHARE of the CPU's time
```
Python itself looks when many objects were made, and a notebook that holds three large ones has made few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Handler, Peer, Send
from nbaccel.local_engine.head.objects import delivery, ledger, lineage
from nbaccel.local_engine.head.objects.tables import ObjectContext
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.stall_timer import LONGEST_LOOK_S, StallTimer
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire import failures
from nbaccel.views.observer_lines import Row

FILLED = 0.7  # of the store; as in Ray
PAUSE_S = 30.0  # between two looks, as in Ray: one at a large program's objects takes a second
SHARE = 0.05
PATIENCE_S = 2.0  # for the answers; a process that is busy in native code cannot look


class GarbageRounds:
    """When processes are asked to look, and which of them have."""

    def __init__(self, timers: LoopTimers, peers: Mapping[int, Peer], send: Send) -> None:
        self._timers = timers
        self._peers = peers
        self._send = send
        self.on_over: Callable[[], None] = lambda: None  # called when all have looked
        self._waiting: set[int] = set()  # clients that have not answered
        self._round = 0
        self._begun_at = -PAUSE_S
        self._took_s = 0.0  # of a CPU: what the last round cost the process that it cost most
        self._is_due = False  # a round begins as soon as the last one has cost at most SHARE

    def filled(self, used: int, capacity: int) -> None:
        """So much of the store is taken, or asked for."""
        if used > FILLED * capacity and self._timers.now() - self._begun_at >= PAUSE_S:
            self._begin()

    def work_waits(self) -> None:
        """Work waits for what actors hold, whose last handles may be in cycles."""
        if self._is_due:
            return
        pause_s = self._begun_at + self._took_s / SHARE - self._timers.now()
        if not self._waiting and pause_s <= 0:
            self._begin()
            return
        self._is_due = True
        self._timers.after(max(pause_s, LONGEST_LOOK_S), self._due)

    def _due(self) -> None:
        self._is_due = False
        self.work_waits()

    def is_awaited(self, asked_at: float) -> bool:
        """Whether a collection may still free space for a request of that time. Begins one if there was none since."""
        if self._begun_at < asked_at:
            self._begin()
        return bool(self._waiting)

    def _begin(self) -> None:
        self._begun_at, self._took_s = self._timers.now(), 0.0
        self._round = number = self._round + 1
        asked = [peer for peer in self._peers.values() if peer.role == "driver" or _has_run(peer)]
        self._waiting = {peer.client_id for peer in asked}
        for peer in asked:
            self._send(peer, wire.CollectGarbage(number))
        self._wait(number, StallTimer(PATIENCE_S, self._begun_at, lambda: None))

    def _wait(self, number: int, stall: StallTimer) -> None:
        """Give up who has not answered in time: a machine that stands still uses up none of it."""
        if number != self._round or not self._waiting:
            return
        if stall.is_over(self._timers.now()):
            self._over(number)
        else:
            self._timers.after(LONGEST_LOOK_S, lambda: self._wait(number, stall))

    def answered(self, client_id: int, number: int, took_s: float = 0.0) -> None:
        """A process has collected for this round, and has reported its released refs before.

        What it has collected for an earlier round says nothing: it may have made more since.
        """
        if number == self._round:
            self._took_s = max(self._took_s, took_s)
            self.has_ended(client_id)

    def answer(self) -> Row[Peer]:
        """The row of what processes say when they have collected."""
        return asks.GarbageCollected.answered_by(
            lambda peer, asked: self.answered(peer.client_id, asked.number, asked.took_s)
        )

    def has_ended(self, client_id: int) -> None:
        """Nothing more is to be waited for from this process."""
        if client_id in self._waiting:
            self._waiting.discard(client_id)
            if not self._waiting:
                self._over(self._round)

    def _over(self, number: int) -> None:
        if number == self._round:
            self._waiting.clear()
            self.on_over()


def _has_run(peer: Peer) -> bool:
    return peer.role == "worker" and peer.worker is not None and bool(peer.worker.used)


def handlers(context: ObjectContext) -> dict[type, Handler]:
    """What drivers and workers may send."""
    store, errors = context.store, context.errors
    return {
        wire.Put: partial(_put, context),
        wire.Want: partial(_want, context),
        wire.WantReady: partial(_want_ready, context),
        wire.ValuesRequested: lambda peer, m: errors.read(m.ids),
        wire.AddRef: partial(_holds, context),
        wire.DropRef: partial(_releases, context),
        wire.Unmapped: partial(_unmapped, context),
        wire.Allocate: partial(_allocate, context),
        wire.GiveUp: lambda peer, m: store.give_up(m.offset, peer.client_id, m.request),
    }


def answers(context: ObjectContext) -> list[Row[Peer]]:
    """What may be asked of them."""
    return [
        asks.Pin.answered_by(partial(_pin, context)),
        asks.MoveFirst.answered_by(lambda peer, asked: ledger.last_choice(context.objects, asked.ids)),
    ]


def _pin(context: ObjectContext, peer: Peer, asked: asks.Pin) -> None:
    """A ref was pickled outside of a task or value: it may come back at any time, so it is kept for the
    job's life.
    """
    pinned = context.objects.pickled.setdefault(peer.job, set())
    if asked.id not in pinned:
        pinned.add(asked.id)
        ledger.pin(context.objects, (asked.id,))


def job_ended(context: ObjectContext, job: int) -> None:
    """What it pickled by hand is let go."""
    ledger.unpin(context.objects, context.objects.pickled.pop(job, ()))


def _put(context: ObjectContext, peer: Peer, message: wire.Put) -> None:
    context.store.filled(message.value, peer.client_id)
    ledger.promise(context.objects, message.object_id, peer.client_id)
    ledger.fill(context.objects, message.object_id, message.value, message.refs)
    if peer.worker is not None:
        lineage.placed(context, message.object_id, peer.worker.node_id)


def _allocate(context: ObjectContext, peer: Peer, message: wire.Allocate) -> None:
    def answer(offset: int, why: str) -> None:
        context.send(peer, wire.Allocated(message.request, offset, why, context.store.times_given_back))

    context.store.allocate(peer.client_id, message.request, message.size, answer)


def _holds(context: ObjectContext, peer: Peer, message: wire.AddRef) -> None:
    for id in message.ids:
        ledger.hold(context.objects, id, peer.client_id)


def _releases(context: ObjectContext, peer: Peer, message: wire.DropRef) -> None:
    for id in message.ids:
        ledger.release(context.objects, id, peer.client_id)


def _unmapped(context: ObjectContext, peer: Peer, message: wire.Unmapped) -> None:
    for id in message.object_ids:
        ledger.unmapped(context.objects, id, peer.client_id)


def _want(context: ObjectContext, peer: Peer, message: wire.Want) -> None:
    for id in message.object_ids:
        record = ledger.own(context.objects, id)
        if record is None:
            lost = failures.failed(
                "ObjectLostError",
                f"Object {id.hex()} does not exist any more: its last ref was released, or it is of a cluster that "
                "has been shut down.",
            )
            context.send(peer, wire.ObjectValue(id, lost))
        elif record.value is None:
            if record.wanted_by is None:
                record.wanted_by = set()
            record.wanted_by.add(peer.client_id)
        else:
            delivery.deliver(context, id, peer)


def _want_ready(context: ObjectContext, peer: Peer, message: wire.WantReady) -> None:
    there = []
    for id in message.object_ids:
        record = ledger.own(context.objects, id)
        if record is None or record.value is not None:
            there.append(id)
        else:
            if record.ready_wanted_by is None:
                record.ready_wanted_by = set()
            record.ready_wanted_by.add(peer.client_id)
    if there:
        context.send(peer, wire.ObjectReady(there))
