"""Room in the arena: who gets it, what goes to disk for it and comes back, and who is refused."""

from __future__ import annotations

import os

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Peer
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.objects.requests import PATIENCE_S
from nbaccel.local_engine.head.objects.store import FULL_PATIENCE_S
from nbaccel.local_engine.side_processes import mover
from tests.local_engine.head.objects.conftest import CAPACITY, Room

HALF = CAPACITY // 2
THIRD = CAPACITY // 3 // 4096 * 4096


def looked(room: Room) -> None:
    """All processes have looked for garbage in vain."""
    room.clock.jump(PATIENCE_S)


def refusal(messages: list[wire.Allocated]) -> str:
    """Why room was refused."""
    (message,) = [message for message in messages if type(message) is wire.Allocated]
    assert message.offset == -1
    return message.message


def test_room_is_given_at_once_and_used_again(room: Room) -> None:
    maker = room.out.add(1, "worker")
    first = room.put_large(maker, b"x", HALF)
    room.receive(maker, wire.DropRef([b"x"]))
    room.store.collect()
    assert room.put_large(maker, b"y", CAPACITY) == first
    assert room.orders_to_mover() == []


def test_what_is_larger_than_the_store_is_refused_at_once(room: Room) -> None:
    answer = room.receive(room.out.add(1, "worker"), wire.Allocate(1, CAPACITY + 1))
    assert "does not fit into the object store" in refusal(answer)


def test_the_object_used_longest_ago_goes_to_disk_for_a_new_one(room: Room) -> None:
    maker = room.out.add(1, "worker")
    for id in (b"a", b"b", b"c"):
        room.put_large(maker, id, THIRD)
        room.objects.records[id].last_used = {b"a": 3.0, b"b": 1.0, b"c": 2.0}[id]
    assert room.receive(maker, wire.Allocate(7, THIRD)) == []
    (order,) = room.orders_to_mover()
    assert (type(order), order.object_id) == (mover.Spill, b"b")
    room.mover_reports(order)
    (answer,) = room.out.taken(1)
    assert (answer.request, answer.offset) == (7, order.offset)
    assert room.objects.records[b"b"].spilled == order.path and room.store.spilled_bytes == THIRD


def spill(room: Room, maker: Peer, id: bytes) -> None:
    """Put an object of half the store, and fill the store so that this one goes to disk."""
    room.put_large(maker, id, HALF)
    room.put_large(maker, b"other", HALF)
    room.objects.records[b"other"].last_used = 1.0
    room.receive(maker, wire.Allocate(9, HALF))
    (order,) = room.orders_to_mover()
    assert order.object_id == id
    room.mover_reports(order)
    (answer,) = room.out.taken(maker.client_id)
    room.receive(maker, wire.GiveUp(answer.offset, 9))
    room.store.collect()


def test_an_object_on_disk_comes_back_for_its_reader(room: Room) -> None:
    maker, reader = room.out.add(1, "worker"), room.out.add(2, "worker")
    spill(room, maker, b"x")
    assert room.receive(reader, wire.Want([b"x"])) == []
    (order,) = room.orders_to_mover()
    assert (type(order), order.object_id) == (mover.Restore, b"x")
    room.mover_reports(order)
    (message,) = room.out.taken(2)
    assert (message.object_id, message.value.offset) == (b"x", order.offset)
    assert not room.objects.records[b"x"].spilled and room.store.spilled_bytes == 0
    ledger.check(room.objects)


def test_two_readers_bring_an_object_back_once(room: Room) -> None:
    maker, first, second = room.out.add(1, "worker"), room.out.add(2, "worker"), room.out.add(3)
    spill(room, maker, b"x")
    room.receive(first, wire.Want([b"x"]))
    room.receive(second, wire.Want([b"x"]))
    (order,) = room.orders_to_mover()
    room.mover_reports(order)
    assert [len(room.out.taken(client)) for client in (2, 3)] == [1, 1]


def test_a_reader_hears_why_an_object_cannot_be_read_back(room: Room) -> None:
    maker, reader = room.out.add(1, "worker"), room.out.add(2, "worker")
    spill(room, maker, b"x")
    room.receive(reader, wire.Want([b"x"]))
    (order,) = room.orders_to_mover()
    room.mover_reports(order, "Input/output error")
    (message,) = room.out.taken(2)
    assert b"cannot be read back: Input/output error" in message.value.data


def test_a_full_disk_refuses_those_who_wait_for_room(room: Room) -> None:
    maker = room.out.add(1, "worker")
    room.put_large(maker, b"x", CAPACITY)
    room.receive(maker, wire.Allocate(2, 4096))
    (order,) = room.orders_to_mover()
    room.mover_reports(order, "No space left on device")
    assert "moving objects to disk failed: No space left on device" in refusal(room.out.taken(1))
    assert not room.objects.records[b"x"].spilled


def test_objects_that_are_in_use_cannot_go_to_disk(room: Room) -> None:
    maker, reader = room.out.add(1, "worker"), room.out.add(2, "worker")
    room.put_large(maker, b"x", CAPACITY)
    room.receive(reader, wire.Want([b"x"]))
    assert room.receive(maker, wire.Allocate(2, 4096)) == [] and room.orders_to_mover() == []
    looked(room)
    assert room.out.taken(1) == []  # the reader may let go of it yet
    room.clock.jump(FULL_PATIENCE_S)
    assert "The object store is full" in refusal(room.out.taken(1))


def test_room_that_a_reader_lets_go_of_is_given_to_who_waits(room: Room) -> None:
    maker, reader = room.out.add(1, "worker"), room.out.add(2, "worker")
    room.put_large(maker, b"x", CAPACITY)
    room.receive(reader, wire.Want([b"x"]))
    room.receive(maker, wire.Allocate(2, 4096))
    room.receive(maker, wire.DropRef([b"x"]))
    room.receive(reader, wire.Unmapped([b"x"]))
    room.store.collect()
    (answer,) = [message for message in room.out.taken(1) if type(message) is wire.Allocated]
    assert answer.offset >= 0


def test_a_store_that_fills_asks_every_driver_to_look_for_garbage_and_waits_for_them(room: Room) -> None:
    maker, other = room.out.add(1), room.out.add(2)
    room.put_large(maker, b"x", CAPACITY)
    assert room.out.taken(2) == [wire.CollectGarbage(1)]
    room.receive(maker, wire.Want([b"x"]))  # in use, by who asks for more
    room.clock.jump(PATIENCE_S)
    room.receive(maker, wire.Allocate(2, 4096))  # a look since then is waited for
    room.garbage.answered(maker.client_id, 2)
    room.garbage.answered(other.client_id, 1)  # late: what it made since then may still be garbage
    assert not [message for message in room.out.taken(1) if type(message) is wire.Allocated]
    room.garbage.answered(other.client_id, 2)
    assert "The object store is full" in refusal(room.out.taken(1))


def test_work_that_waits_has_all_look_as_often_as_the_looks_of_before_were_cheap(room: Room) -> None:
    driver = room.out.add(1)

    def asked() -> list[int]:
        return [message.number for message in room.out.taken(1)]

    room.garbage.work_waits()
    assert asked() == [1]
    room.clock.jump(PATIENCE_S / 2)  # others use the machine's CPUs
    room.garbage.answered(driver.client_id, 1, took_s=0.01)
    room.garbage.work_waits()
    assert asked() == [2]
    room.garbage.answered(driver.client_id, 2, took_s=0.1)
    room.garbage.work_waits()
    room.clock.jump(1.0)
    assert asked() == []
    room.clock.jump(1.1)  # what was asked too early is made up for, once
    assert asked() == [3]
    room.garbage.answered(driver.client_id, 3, took_s=0.01)
    room.clock.jump(10.0)
    assert asked() == []


def test_a_machine_that_stands_still_refuses_nobody_before_all_have_looked(room: Room) -> None:
    maker = room.out.add(1)
    room.put_large(maker, b"x", CAPACITY)
    room.receive(maker, wire.Want([b"x"]))
    room.clock.jump(PATIENCE_S)
    room.receive(maker, wire.Allocate(2, 4096))
    room.out.taken(1)
    room.clock.stand_still(60.0)
    assert not [message for message in room.out.taken(1) if type(message) is wire.Allocated]
    room.clock.jump(PATIENCE_S)
    assert "The object store is full" in refusal(room.out.taken(1))


def test_a_new_mover_is_told_what_its_predecessor_has_not_reported(room: Room) -> None:
    maker = room.out.add(1, "worker")
    room.put_large(maker, b"x", CAPACITY)
    room.receive(maker, wire.Allocate(2, 4096))
    (order,) = room.orders_to_mover()
    room.mover.on_restart()
    assert room.orders_to_mover() == [order]
    room.mover_reports(order)
    room.mover.on_restart()
    assert room.orders_to_mover() == []


def test_an_object_that_went_while_it_moved_leaves_no_file(room: Room) -> None:
    maker = room.out.add(1, "worker")
    room.put_large(maker, b"x", CAPACITY)
    room.receive(maker, wire.Allocate(2, 4096))
    (order,) = room.orders_to_mover()
    room.receive(maker, wire.DropRef([b"x"]))
    os.makedirs(os.path.dirname(order.path))
    with open(order.path, "wb"):
        pass
    room.mover_reports(order)
    assert not os.path.exists(order.path)


def test_the_room_of_a_process_that_ended_is_free_again(room: Room) -> None:
    maker = room.out.add(1, "worker")
    room.receive(maker, wire.Allocate(1, HALF))
    room.store.client_gone(maker.client_id)
    assert room.store.arena.used == 0


@pytest.mark.parametrize(("offset", "size", "words"), [(4096, 10, "given no range"), (0, 8192, "range is smaller")])
def test_what_a_process_says_of_the_arena_is_not_believed_unseen(
    room: Room, offset: int, size: int, words: str
) -> None:
    maker = room.out.add(1, "worker")
    room.receive(maker, wire.Allocate(1, 10))
    with pytest.raises(ValueError, match=words):
        room.receive(maker, wire.Put(b"x", wire.Value(wire.OK, None, offset, size)))
