"""The ledger when a value is lost: what it held goes, and its successor starts with a clean slate."""

from __future__ import annotations

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.objects.ledger import Objects

ALICE, BOB = 1, 2


def stored(offset: int) -> wire.Value:
    return wire.Value(wire.OK, None, offset, 100)


def test_a_lost_value_lets_go_of_its_room_and_of_the_refs_inside() -> None:
    objects = Objects()
    objects.promise(b"inner", BOB)
    objects.fill(b"inner", stored(0), [])
    objects.promise(b"outer", ALICE)
    objects.fill(b"outer", stored(4096), [b"inner"])
    objects.release(b"inner", BOB)
    assert b"inner" in objects.records
    objects.empty(b"outer")
    objects.check()
    assert b"inner" not in objects.records and objects.records[b"outer"].value is None
    freed = objects.take_freed()
    assert freed is not None and sorted(freed.offsets) == [0, 4096]


def test_the_value_that_is_made_again_knows_nothing_of_the_old_ones_readers() -> None:
    objects = Objects()
    objects.promise(b"x", ALICE)
    objects.fill(b"x", stored(0), [])
    objects.mapped(b"x", BOB)
    objects.empty(b"x")
    objects.fill(b"x", stored(4096), [])
    assert not objects.records[b"x"].mappers
    objects.client_gone(BOB)
    freed = objects.take_freed()
    assert freed is not None and freed.offsets == [0]
    objects.release(b"x", ALICE)
    freed = objects.take_freed()
    assert freed is not None and freed.offsets == [4096]


def test_the_lineage_is_told_when_a_placed_object_goes() -> None:
    objects = Objects()
    record = objects.promise(b"x", ALICE)
    objects.fill(b"x", stored(0), [])
    record.nodes = {b"node"}
    objects.release(b"x", ALICE)
    freed = objects.take_freed()
    assert freed is not None and freed.placed == [b"x"]


def test_who_lets_go_of_an_object_before_it_is_promised_does_not_hold_it() -> None:
    objects = Objects()
    objects.release_early(b"x", ALICE)
    objects.promise_late(b"y", ALICE)
    objects.promise_late(b"x", BOB)  # who has said nothing
    assert set(objects.records) == {b"x", b"y"}
    objects.release(b"x", BOB)
    objects.promise_late(b"x", ALICE)
    objects.check()
    assert set(objects.records) == {b"y"}
    objects.promise_late(b"x", ALICE)  # it was counted once
    assert set(objects.records) == {b"x", b"y"}


def test_what_was_let_go_of_early_is_forgotten_later_or_with_its_holder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(ledger.time, "monotonic", lambda: now)
    objects = Objects()
    objects.release_early(b"x", ALICE)
    now += ledger.EARLY_S + 1.0
    objects.release_early(b"y", ALICE)
    assert set(objects._early[ALICE]) == {b"y"}
    objects.client_gone(ALICE)
    assert not objects._early
