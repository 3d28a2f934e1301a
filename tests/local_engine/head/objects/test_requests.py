"""What clients say of objects, and what they and others are told."""

from __future__ import annotations

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.objects import delivery, ledger
from nbaccel.local_engine.head.objects.delivery import PUSH_BYTES
from tests.local_engine.head.objects.conftest import Room

SMALL = wire.Value(wire.OK, b"small")
ERROR = wire.Value(wire.FAILED, b"error")


def test_a_value_that_is_there_is_sent_to_who_wants_it(room: Room) -> None:
    maker, reader = room.out.add(1), room.out.add(2)
    room.receive(maker, wire.Put(b"x", SMALL))
    assert room.receive(reader, wire.Want([b"x"])) == [wire.ObjectValue(b"x", SMALL)]


def test_a_value_that_is_still_to_come_is_sent_when_it_comes(room: Room) -> None:
    maker, reader = room.out.add(1), room.out.add(2)
    ledger.promise(room.objects, b"x", 1)
    assert room.receive(reader, wire.Want([b"x"])) == []
    delivery.fill(room.context, b"x", SMALL, [], 1)
    assert room.out.taken(2) == [wire.ObjectValue(b"x", SMALL)]
    assert room.out.taken(maker.client_id) == [wire.ObjectValue(b"x", SMALL)]


@pytest.mark.parametrize(("size", "answer"), [(PUSH_BYTES, wire.ObjectValue), (PUSH_BYTES + 1, wire.ObjectReady)])
def test_only_a_small_result_goes_to_its_owner_unasked(room: Room, size: int, answer: type) -> None:
    room.out.add(1)
    ledger.promise(room.objects, b"x", 1)
    delivery.fill(room.context, b"x", wire.Value(wire.OK, bytes(size)), [], 1)
    assert [type(message) for message in room.out.taken(1)] == [answer]


def test_who_waits_only_for_readiness_is_told_without_the_value(room: Room) -> None:
    room.out.add(1)
    waiter = room.out.add(2)
    ledger.promise(room.objects, b"x", 1)
    assert room.receive(waiter, wire.WantReady([b"x", b"gone"])) == [wire.ObjectReady([b"gone"])]
    delivery.fill(room.context, b"x", SMALL, [], 1)
    assert room.out.taken(2) == [wire.ObjectReady([b"x"])]


def test_an_object_that_nobody_knows_is_lost_in_words(room: Room) -> None:
    (answer,) = room.receive(room.out.add(1), wire.Want([b"x"]))
    assert answer.value.status == wire.FAILED and b"does not exist any more" in answer.value.data


def test_an_object_lives_while_anybody_holds_it(room: Room) -> None:
    maker, holder = room.out.add(1), room.out.add(2)
    room.receive(maker, wire.Put(b"x", SMALL))
    room.receive(holder, wire.AddRef([b"x"]))
    room.receive(maker, wire.DropRef([b"x"]))
    assert b"x" in room.objects.records
    room.receive(holder, wire.DropRef([b"x"]))
    assert b"x" not in room.objects.records


def test_a_value_that_a_task_has_as_argument_is_told_to_the_tasks(room: Room) -> None:
    room.out.add(1)
    ledger.promise(room.objects, b"x", 1)
    ledger.promise(room.objects, b"y", 1)
    ledger.pin(room.objects, [b"x"])
    delivery.fill(room.context, b"x", SMALL, [], 1)
    delivery.fill(room.context, b"y", SMALL, [], 1)
    assert room.arrived == [b"x"]


def test_an_error_that_is_asked_for_has_been_read(room: Room) -> None:
    owner = room.out.add(1)
    ledger.promise(room.objects, b"x", 1)
    delivery.fill(room.context, b"x", ERROR, [], 1)
    assert room.errors.were_read == []  # it was pushed, which says nothing of its reader
    room.receive(owner, wire.Want([b"x"]))
    room.receive(owner, wire.ValuesRequested([b"y"]))
    assert room.errors.were_read == [b"x", b"y"]


def test_an_error_that_comes_when_nobody_wants_it_is_gone(room: Room) -> None:
    delivery.fill(room.context, b"x", ERROR, [], 1)
    assert room.errors.are_gone == [b"x"]
    delivery.fill(room.context, b"y", SMALL, [], 1)
    assert room.errors.are_gone == [b"x"]


def test_a_value_is_announced_twice_to_those_who_wait_since(room: Room) -> None:
    room.out.add(1)
    ledger.promise(room.objects, b"x", 1)
    delivery.fill(room.context, b"x", SMALL, [], 1)
    delivery.announce_again(room.context, b"x", 1)
    assert room.out.taken(1) == [wire.ObjectValue(b"x", SMALL)] * 2
    delivery.announce_again(room.context, b"unknown", 1)
    assert room.out.taken(1) == []
