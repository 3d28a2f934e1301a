"""Streams whose reader goes while the thread that reads messages adds an item."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.object_client import StreamReaders
from nbaccel.local_engine.wire.ids import return_id
from tests.rig import DEADLINE_S

TASK = b"t" * 24


class ReferenceCounts:
    """Notes which items were let go; a test says what else happens meanwhile."""

    def __init__(self) -> None:
        self.let_go: list[bytes] = []
        self.when_created: Any = lambda id: None
        self.when_gone: Any = lambda id: None

    def created(self, id: bytes) -> None:
        self.when_created(id)

    def created_all(self, ids: list[bytes]) -> None:
        for id in ids:
            self.when_created(id)

    def gone(self, id: bytes) -> None:
        self.let_go.append(id)
        self.when_gone(id)


def readers_of(references: ReferenceCounts) -> tuple[StreamReaders, list[Any]]:
    """The streams of a process without a head, and what they have said."""
    said: list[Any] = []
    known: dict[bytes, wire.Value] = {}
    client: Any = SimpleNamespace(
        link=SimpleNamespace(
            lost=None,
            receivers={},
            before_write=[],
            ended=SimpleQueue(),
            when_ended={},
            nudge=lambda: None,
            send_later=said.append,
            _outbox=said,
        ),
        references=references,
        values=SimpleNamespace(expect=lambda ids: None, know_all=known.update),
        engine=SimpleNamespace(close_stream=lambda handle: None, ref_gone=lambda id: None),
    )
    return StreamReaders(client), said


ALONE = wire.StreamItem(TASK, 1, None)
TOGETHER = wire.StreamItems(TASK, 1, [b"a", b"b"])


@pytest.mark.parametrize("message, ids", [(ALONE, (0, 1, 2)), (TOGETHER, (0, 1, 2, 3))], ids=["alone", "together"])
def test_an_item_that_comes_while_the_stream_is_closed_is_let_go_and_the_task_is_told_to_stop(
    message: Any, ids: tuple[int, ...]
) -> None:
    references = ReferenceCounts()
    readers, said = readers_of(references)
    handle = readers.open(TASK, b"")
    receivers = readers._client.link.receivers
    receivers[wire.StreamItem](wire.StreamItem(TASK, 0, None))
    has_found_it, may_add_it = threading.Event(), threading.Event()

    def wait_in_the_middle(id: bytes) -> None:
        has_found_it.set()
        assert may_add_it.wait(DEADLINE_S)

    references.when_created = wait_in_the_middle
    reading = threading.Thread(target=receivers[type(message)], args=(message,))
    reading.start()
    assert has_found_it.wait(DEADLINE_S)

    def let_it_be_added(id: bytes) -> None:
        references.when_gone = lambda id: None
        may_add_it.set()
        reading.join(DEADLINE_S)

    references.when_gone = let_it_be_added
    readers.close(handle._task_id)
    assert not reading.is_alive()
    assert sorted(references.let_go) == [return_id(TASK, index) for index in ids]
    assert said == [wire.Consumed(TASK, -1)]


def test_the_head_hears_once_of_all_items_that_were_taken_since_the_last_write() -> None:
    readers, said = readers_of(ReferenceCounts())
    handle = readers.open(TASK, b"")
    link = readers._client.link
    for index in range(5):
        link.receivers[wire.StreamItem](wire.StreamItem(TASK, index, None))
    for items in (3, 2, 0):
        for _ in range(items):
            assert readers.next_item(handle, 0) is not None
        for gather in link.before_write:
            gather()
    assert said == [wire.Consumed(TASK, 3), wire.Consumed(TASK, 5)]


def test_items_of_one_message_are_read_in_their_order_after_those_that_came_before() -> None:
    readers, said = readers_of(ReferenceCounts())
    handle = readers.open(TASK, b"")
    receivers = readers._client.link.receivers
    receivers[wire.StreamItem](wire.StreamItem(TASK, 0, wire.Value(wire.OK, b"0")))
    receivers[wire.StreamItems](wire.StreamItems(TASK, 1, [b"1", b"2", b"3"]))
    receivers[wire.StreamItem](wire.StreamItem(TASK, 4, None))
    refs = [readers.next_item(handle, 0) for _ in range(5)]
    assert [ref._id for ref in refs if ref is not None] == [return_id(TASK, index) for index in range(1, 6)]
    assert not said


def test_items_of_a_stream_that_nobody_reads_any_more_are_released() -> None:
    readers, said = readers_of(ReferenceCounts())
    readers._client.link.receivers[wire.StreamItems](wire.StreamItems(TASK, 4, [b"a", b"b"]))
    assert said == [wire.DropRef([return_id(TASK, 5), return_id(TASK, 6)])]
