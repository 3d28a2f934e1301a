"""What clients say of objects: what they put, want, hold, let go of, and the room that they ask for."""

from __future__ import annotations

from functools import partial

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Handler
from nbaccel.local_engine.head.objects import delivery, ledger, lineage
from nbaccel.local_engine.head.objects.context import ObjectContext
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire import failures
from nbaccel.views.question import Row


def handlers(context: ObjectContext) -> dict[type, Handler]:
    """What drivers and workers may send."""
    store, errors = context.store, context.errors
    return {
        wire.Put: partial(_put, context),
        wire.Want: partial(_want, context),
        wire.WantReady: partial(_want_ready, context),
        wire.AskedFor: lambda peer, m: errors.read(m.ids),
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
