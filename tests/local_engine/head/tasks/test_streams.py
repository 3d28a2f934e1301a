"""Items of streams on their way from writer to reader."""

from __future__ import annotations

from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.records import entry_of
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling.events import CancelRequested
from tests.local_engine.head.tasks.conftest import DRIVER, WORKER, Room

VALUE = wire.Value(wire.OK, b"x")
LARGE = wire.Value(wire.OK, None, 4096, 100)


def item(room: Room, task_id: bytes, index: int, value: wire.Value = VALUE) -> None:
    room.receive(room.peer, wire.Item(task_id, index, wire.ReturnValue(value)))


def test_each_item_goes_to_the_reader_as_it_comes(room: Room) -> None:
    task_id = room.runs("stream")
    item(room, task_id, 0)
    item(room, task_id, 1, LARGE)
    assert room.out.taken(DRIVER) == [wire.StreamItem(task_id, 0, VALUE), wire.StreamItem(task_id, 1, None)]
    assert room.objects.records[return_id(task_id, 2)].value == LARGE


def items(task_id: bytes, first: int, number: int) -> list[Any]:
    values = [wire.Value(wire.OK, b"%d" % index) for index in range(first, first + number)]
    return [wire.Item(task_id, index, wire.ReturnValue(value)) for index, value in enumerate(values, first)]


def test_small_items_that_come_together_go_to_the_reader_in_one_message(room: Room) -> None:
    task_id = room.runs("stream")
    messages = items(task_id, 0, 4)
    assert room.streams.alike(room.peer, messages, 0) == 4
    room.streams.passed_on(room.peer, messages[:3])
    room.streams.passed_on(room.peer, messages[3:])
    notified = [wire.StreamItems(task_id, 0, [b"0", b"1", b"2"]), wire.StreamItems(task_id, 3, [b"3"])]
    assert room.out.taken(DRIVER) == notified
    records = [room.objects.records[return_id(task_id, index)] for index in range(1, 5)]
    assert [(record.owner, record.value.data) for record in records if record.value] == [
        (DRIVER, b"%d" % index) for index in range(4)
    ]
    ledger.client_gone(room.objects, DRIVER)
    assert not room.objects.records.keys() & {return_id(task_id, index) for index in range(1, 5)}


@pytest.mark.parametrize(
    "odd",
    [
        lambda other, at: wire.Item(at[0], at[1], wire.ReturnValue(LARGE)),
        lambda other, at: wire.Item(at[0], at[1], wire.ReturnValue(wire.Value(wire.RAISED, b"no"))),
        lambda other, at: wire.Item(at[0], at[1], wire.ReturnValue(VALUE, [b"r" * 28])),
        lambda other, at: wire.Item(at[0], at[1] - 1, wire.ReturnValue(VALUE)),
        lambda other, at: wire.Item(other, at[1], wire.ReturnValue(VALUE)),
        lambda other, at: wire.Done(at[0], []),
    ],
    ids=["in the store", "an error", "with a ref", "said before", "of another stream", "the end"],
)
def test_what_is_no_small_next_item_is_not_among_those_that_go_together(room: Room, odd: Any) -> None:
    task_id = room.runs("stream")
    messages = items(task_id, 0, 5)
    messages[3] = odd(room.runs("stream"), (task_id, 3))
    assert room.streams.alike(room.peer, messages, 0) == 3


def test_items_that_their_reader_has_or_never_gets_do_not_go_together(room: Room) -> None:
    task_id = room.runs("stream")
    messages = items(task_id, 0, 3)
    assert room.streams.alike(room.peer, items(b"t" * 24, 0, 3), 0) == 0
    entry_of(room.records[task_id].task).items = 1
    assert room.streams.alike(room.peer, messages, 0) == 0 and room.streams.alike(room.peer, messages, 1) == 2
    entry_of(room.records[task_id].task).is_made_again = True
    assert room.streams.alike(room.peer, messages, 1) == 0
    entry_of(room.records[task_id].task).is_made_again = False
    room.out.peers.pop(DRIVER).close()
    assert room.streams.alike(room.peer, messages, 1) == 0


def test_items_of_a_task_that_nobody_knows_are_dropped(room: Room) -> None:
    item(room, b"t" * 24, 0, LARGE)
    freed = ledger.take_freed(room.objects)
    assert freed is not None and freed.offsets == [4096]


def test_an_item_that_the_reader_has_already_is_not_sent_again(room: Room) -> None:
    task_id = room.runs("stream")
    item(room, task_id, 0)
    room.out.taken(DRIVER)
    item(room, task_id, 0, LARGE)  # the task runs once more
    assert room.out.taken(DRIVER) == []
    freed = ledger.take_freed(room.objects)
    assert freed is not None and freed.offsets == [4096]


def test_an_item_that_was_lost_is_filled_when_its_task_gives_it_again(room: Room) -> None:
    task_id = room.runs("stream")
    item(room, task_id, 0)
    ledger.empty(room.objects, return_id(task_id, 1))
    item(room, task_id, 0, LARGE)
    assert room.filled == [(return_id(task_id, 1), LARGE)]


def test_a_reader_that_has_gone_ends_the_writer(room: Room) -> None:
    task_id = room.runs("stream")
    assert room.receive(room.driver, wire.Consumed(task_id, -1)) == []
    assert room.out.taken(WORKER) == [wire.Consumed(task_id, -1)]
    room.worker.ended = True
    assert room.receive(room.driver, wire.Consumed(task_id, -1)) == [CancelRequested(task_id)]


def test_a_reader_that_keeps_no_pace_is_not_reported_to_the_writer(room: Room) -> None:
    task_id = room.runs("stream")  # without backpressure
    room.receive(room.driver, wire.Consumed(task_id, 3))
    assert room.out.taken(WORKER) == []
    assert room.records[task_id].task.payload.consumed == 3


def test_the_end_is_told_once_with_the_error_as_the_last_item(room: Room) -> None:
    task_id = room.runs("stream")
    task = room.records[task_id].task
    item(room, task_id, 0)
    room.out.taken(DRIVER)
    error = wire.Value(wire.RAISED, b"error")
    for _ in range(2):
        room.streams.end(task, task.payload, [wire.ReturnValue(error)])
    assert room.out.taken(DRIVER) == [wire.StreamItem(task_id, 1, error), wire.StreamEnd(task_id, 2)]
