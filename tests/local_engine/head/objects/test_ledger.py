"""The ledger when a value is lost: what it held goes, and its successor starts with a clean slate."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.objects.tables import ObjectRecord, ObjectTables, Promise

ALICE, BOB = 1, 2


def stored(offset: int) -> wire.Value:
    return wire.Value(wire.OK, None, offset, 100)


def test_a_lost_value_lets_go_of_its_room_and_of_the_refs_inside() -> None:
    objects = ObjectTables()
    ledger.promise(objects, b"inner", BOB)
    ledger.fill(objects, b"inner", stored(0), [])
    ledger.promise(objects, b"outer", ALICE)
    ledger.fill(objects, b"outer", stored(4096), [b"inner"])
    ledger.release(objects, b"inner", BOB)
    assert b"inner" in objects.records
    ledger.empty(objects, b"outer")
    ledger.check(objects)
    assert b"inner" not in objects.records and objects.records[b"outer"].value is None
    freed = ledger.take_freed(objects)
    assert freed is not None and sorted(freed.offsets) == [0, 4096]


def test_the_value_that_is_made_again_knows_nothing_of_the_old_ones_readers() -> None:
    objects = ObjectTables()
    ledger.promise(objects, b"x", ALICE)
    ledger.fill(objects, b"x", stored(0), [])
    ledger.mapped(objects, b"x", BOB)
    ledger.empty(objects, b"x")
    ledger.fill(objects, b"x", stored(4096), [])
    assert not objects.records[b"x"].mappers
    ledger.client_gone(objects, BOB)
    freed = ledger.take_freed(objects)
    assert freed is not None and freed.offsets == [0]
    ledger.release(objects, b"x", ALICE)
    freed = ledger.take_freed(objects)
    assert freed is not None and freed.offsets == [4096]


def test_the_lineage_is_told_when_a_placed_object_goes() -> None:
    objects = ObjectTables()
    record = ledger.promise(objects, b"x", ALICE)
    ledger.fill(objects, b"x", stored(0), [])
    record.nodes = {b"node"}
    ledger.release(objects, b"x", ALICE)
    freed = ledger.take_freed(objects)
    assert freed is not None and freed.placed == [b"x"]


def test_tables_that_were_much_fuller_are_small_again_and_hold_what_they_held() -> None:
    objects = ObjectTables()
    ids = [b"%d" % number for number in range(5_000)]
    ledger.promise_all(objects, ids, ALICE)
    for id in ids[1:]:
        ledger.release(objects, id, ALICE)
    ledger.hold(objects, ids[0], BOB)
    table, record = objects.held_by[ALICE], objects.records[ids[0]]
    before = sys.getsizeof(objects.records) + sys.getsizeof(table)
    ledger.let_go(objects)()
    ledger.check(objects)
    assert objects.held_by == {ALICE: {ids[0]}, BOB: {ids[0]}} and objects.held_by[ALICE] is table
    assert list(objects.records) == ids[:1] and objects.records[ids[0]] is record
    assert sys.getsizeof(objects.records) + sys.getsizeof(table) < before / 100


RESULTS = [b"one", b"two", b"three"]


def promised() -> ObjectTables:
    objects = ObjectTables()
    ledger.promise_all(objects, RESULTS, ALICE)
    return objects


def test_results_that_were_promised_together_share_a_record_that_nobody_can_change() -> None:
    objects = promised()
    assert len({id(record) for record in objects.records.values()}) == 1
    with pytest.raises(AttributeError):
        objects.records[b"one"].pins += 1
    ledger.check(objects)


@pytest.mark.parametrize(
    "act",
    [
        lambda objects: ledger.fill(objects, b"one", wire.Value(wire.OK, b"x"), []),
        lambda objects: ledger.fill_plainly(objects, b"one", wire.Value(wire.OK, b"x"), ALICE),
        lambda objects: ledger.hold(objects, b"one", BOB),
        lambda objects: ledger.release(objects, b"one", ALICE),
        lambda objects: ledger.pin(objects, [b"one"]),
        lambda objects: ledger.last_choice(objects, [b"one"]),
        lambda objects: ledger.own(objects, b"one").wanted_by.__class__,
    ],
    ids=["filled", "filled plainly", "held", "released", "pinned", "last choice", "wanted"],
)
def test_what_happens_to_one_promised_result_happens_to_no_other(act: Any) -> None:
    objects = promised()
    act(objects)
    others = [objects.records[id] for id in RESULTS[1:]]
    assert others == [ObjectRecord(ALICE)] * 2 or others == [Promise(ALICE)] * 2
    assert type(objects.records.get(b"one")) is not Promise
    ledger.client_gone(objects, ALICE)
    assert not objects.records.keys() & set(RESULTS[1:])


def test_a_promised_result_is_filled_plainly_for_its_owner_alone() -> None:
    objects = promised()
    value = wire.Value(wire.OK, b"x")
    assert not ledger.fill_plainly(objects, b"one", value, BOB)
    assert ledger.fill_plainly(objects, b"one", value, ALICE) and not ledger.fill_plainly(objects, b"one", value, ALICE)
    assert objects.records[b"one"] == ObjectRecord(ALICE, value)


def test_pins_of_promised_results_are_counted_for_each() -> None:
    objects = promised()
    ledger.pin(objects, [b"one", b"one", b"two"])
    assert [objects.records[id].pins for id in RESULTS] == [2, 1, 0]
    ledger.release(objects, b"one", ALICE)
    ledger.unpin(objects, [b"one"])
    assert b"one" in objects.records
    ledger.unpin(objects, [b"one"])
    assert b"one" not in objects.records
