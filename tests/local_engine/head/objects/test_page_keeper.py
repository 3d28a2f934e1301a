"""When memory is made ready for large values and when it goes back, with a machine and a mover that are made up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Peer
from nbaccel.local_engine.head.objects.page_keeper import LARGE_BYTES, LOOK_S, READY_BYTES, UNUSED_S
from nbaccel.local_engine.side_processes import mover
from tests.local_engine.head.objects.conftest import Room
from tests.local_engine.head.seams import outbox

MIB = 1 << 20
CAPACITY = 1024 * MIB
FIRST = 100 * MIB


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with outbox() as out:
        yield Room(out, tmp_path, CAPACITY)


@pytest.fixture
def driver(room: Room) -> Peer:
    return room.out.add(1)


def work(room: Room, *, until: type | None = None) -> list[mover.Populate | mover.GiveBack]:
    """Let the mover carry out its orders, up to one of this type; all of them."""
    done = []
    while orders := room.orders_to_mover():
        (order,) = orders
        done.append(order)
        if until is not None and isinstance(order, until):
            break
        room.mover_reports(order)
    return done


def release(room: Room, driver: Peer, *ids: bytes) -> None:
    room.receive(driver, wire.DropRef(list(ids)))
    room.store.collect()


def test_after_a_large_value_memory_for_the_next_is_made_ready_and_its_driver_told(room: Room, driver: Peer) -> None:
    room.put_large(driver, b"x", FIRST)
    orders = work(room)
    assert {type(order) for order in orders} == {mover.Populate}
    assert sum(order.size for order in orders) == READY_BYTES
    assert room.notified == [(1, wire.PagesReady([(FIRST, FIRST + READY_BYTES)], 0))]
    assert room.memory.has_turn


def test_a_value_below_a_megabyte_makes_nothing_ready(room: Room, driver: Peer) -> None:
    room.put_large(driver, b"x", LARGE_BYTES - 4096)
    assert room.orders_to_mover() == [] and not room.memory.has_turn


def test_what_was_taken_of_it_is_made_ready_again(room: Room, driver: Peer) -> None:
    room.put_large(driver, b"x", FIRST)
    work(room)
    room.put_large(driver, b"y", FIRST)
    assert sum(order.size for order in work(room)) == FIRST
    assert room.notified[-1][1].stretches == [(2 * FIRST, 2 * FIRST + READY_BYTES)]


def test_a_recycled_range_makes_nothing_ready(room: Room, driver: Peer) -> None:
    room.put_large(driver, b"x", FIRST)
    work(room)
    release(room, driver, b"x")
    room.put_large(driver, b"y", FIRST)
    assert room.orders_to_mover() == []


def test_no_more_than_the_store_has_is_made_ready(tmp_path: Path) -> None:
    with outbox() as out:
        room = Room(out, tmp_path, 120 * MIB)
        room.put_large(out.add(1), b"x", FIRST)
        assert sum(order.size for order in work(room)) == 20 * MIB


def test_only_one_head_of_a_user_makes_memory_ready(room: Room, driver: Peer) -> None:
    room.memory.is_others_turn = True
    room.put_large(driver, b"x", FIRST)
    assert room.orders_to_mover() == [] and room.notified == []


def test_a_machine_with_little_memory_is_left_what_it_has(room: Room, driver: Peer) -> None:
    room.memory.room = 3 * MIB
    room.put_large(driver, b"x", FIRST)
    (order,) = room.orders_to_mover()
    assert order == mover.Populate(FIRST, 3 * MIB)


def test_free_memory_goes_back_within_ten_seconds_and_then_the_mover_rests(room: Room, driver: Peer) -> None:
    room.put_large(driver, b"x", FIRST)
    work(room)
    release(room, driver, b"x")
    room.clock.jump(UNUSED_S - LOOK_S)
    assert room.orders_to_mover() == []
    room.clock.jump(10 - UNUSED_S)
    orders = work(room)
    assert {type(order) for order in orders} == {mover.GiveBack}
    assert sum(order.size for order in orders) == FIRST + READY_BYTES
    assert room.store.pages.pages.bytes == 0 and not room.memory.has_turn
    room.clock.jump(LOOK_S)
    assert not room.mover.is_alive
    room.store.arena.check()


def test_memory_of_a_value_that_is_held_stays(room: Room, driver: Peer) -> None:
    offset = room.put_large(driver, b"x", FIRST)
    work(room)
    room.clock.jump(UNUSED_S + LOOK_S)
    given = work(room)
    assert all(order.offset >= offset + FIRST for order in given) and sum(order.size for order in given) == READY_BYTES


def test_who_asks_for_room_is_told_that_mappings_have_lost_pages(room: Room, driver: Peer) -> None:
    room.put_large(driver, b"x", FIRST)
    work(room)
    (before,) = room.receive(driver, wire.Allocate(7, MIB))
    room.clock.jump(UNUSED_S + LOOK_S)
    given = [order for order in work(room) if isinstance(order, mover.GiveBack)]
    (after,) = room.receive(driver, wire.Allocate(8, MIB))
    assert (before.times_given_back, after.times_given_back) == (0, len(given)) and given


def test_what_is_being_given_back_is_not_handed_out(room: Room, driver: Peer) -> None:
    room.put_large(driver, b"x", FIRST)
    release(room, driver, b"x")
    work(room)
    room.clock.jump(UNUSED_S + LOOK_S)
    (order,) = work(room, until=mover.GiveBack)
    (answer,) = room.receive(driver, wire.Allocate(7, FIRST))
    assert answer.offset >= order.offset + order.size
    room.mover_reports(order)
    (answer,) = room.receive(driver, wire.Allocate(8, FIRST))
    assert answer.offset == order.offset


def test_who_needs_all_of_the_store_waits_until_a_part_has_been_given_back(room: Room, driver: Peer) -> None:
    room.put_large(driver, b"x", FIRST)
    release(room, driver, b"x")
    work(room)
    room.clock.jump(UNUSED_S + LOOK_S)
    (order,) = work(room, until=mover.GiveBack)
    said = room.receive(driver, wire.Allocate(7, CAPACITY))
    assert wire.Allocated not in map(type, said)
    room.mover_reports(order)
    work(room)
    answers = [message for message in room.out.taken(1) if type(message) is wire.Allocated]
    assert [(answer.request, answer.offset) for answer in answers] == [(7, 0)]


def test_all_free_memory_goes_at_once_when_the_machine_is_short_of_it(room: Room, driver: Peer) -> None:
    room.put_large(driver, b"x", FIRST)
    work(room)
    release(room, driver, b"x")
    room.memory.room = 0
    room.clock.jump(LOOK_S)
    assert sum(order.size for order in work(room)) == FIRST + READY_BYTES


def test_a_mover_that_dies_is_told_again_what_it_had_not_done(room: Room, driver: Peer) -> None:
    room.put_large(driver, b"x", FIRST)
    (order,) = room.orders_to_mover()
    room.mover.on_restart()
    assert room.orders_to_mover() == [order]
    room.mover_reports(order)
    assert sum(each.size for each in work(room)) == READY_BYTES - order.size


def test_a_system_that_provides_no_memory_is_not_asked_again(room: Room, driver: Peer) -> None:
    room.put_large(driver, b"x", FIRST)
    (order,) = room.orders_to_mover()
    room.mover_reports(order, "Cannot allocate memory")
    assert room.orders_to_mover() == [] and room.notified == []
