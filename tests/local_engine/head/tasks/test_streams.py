"""Items of streams on their way from writer to reader."""

from __future__ import annotations

from nbaccel.local_engine import wire
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling.events import CancelAsked
from tests.local_engine.head.tasks.conftest import DRIVER, WORKER, Room

VALUE = wire.Value(wire.OK, b"x")
LARGE = wire.Value(wire.OK, None, 4096, 100)


def item(room: Room, task_id: bytes, index: int, value: wire.Value = VALUE) -> None:
    room.hear(room.peer, wire.Item(task_id, index, wire.ReturnValue(value)))


def test_each_item_goes_to_the_reader_as_it_comes(room: Room) -> None:
    task_id = room.runs("stream")
    item(room, task_id, 0)
    item(room, task_id, 1, LARGE)
    assert room.out.taken(DRIVER) == [wire.StreamItem(task_id, 0, VALUE), wire.StreamItem(task_id, 1, None)]
    assert room.objects.records[return_id(task_id, 2)].value == LARGE


def test_items_of_a_task_that_nobody_knows_are_dropped(room: Room) -> None:
    item(room, b"t" * 24, 0, LARGE)
    freed = room.objects.take_freed()
    assert freed is not None and freed.offsets == [4096]


def test_an_item_that_the_reader_has_already_is_not_sent_again(room: Room) -> None:
    task_id = room.runs("stream")
    item(room, task_id, 0)
    room.out.taken(DRIVER)
    item(room, task_id, 0, LARGE)  # the task runs once more
    assert room.out.taken(DRIVER) == []
    freed = room.objects.take_freed()
    assert freed is not None and freed.offsets == [4096]


def test_an_item_that_was_lost_is_filled_when_its_task_gives_it_again(room: Room) -> None:
    task_id = room.runs("stream")
    item(room, task_id, 0)
    room.objects.empty(return_id(task_id, 1))
    item(room, task_id, 0, LARGE)
    assert room.filled == [(return_id(task_id, 1), LARGE)]


def test_a_reader_that_has_gone_ends_the_writer(room: Room) -> None:
    task_id = room.runs("stream")
    assert room.hear(room.driver, wire.Consumed(task_id, -1)) == []
    assert room.out.taken(WORKER) == [wire.Consumed(task_id, -1)]
    room.worker.ended = True
    assert room.hear(room.driver, wire.Consumed(task_id, -1)) == [CancelAsked(task_id)]


def test_a_reader_that_keeps_no_pace_is_not_reported_to_the_writer(room: Room) -> None:
    task_id = room.runs("stream")  # without backpressure
    room.hear(room.driver, wire.Consumed(task_id, 3))
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
