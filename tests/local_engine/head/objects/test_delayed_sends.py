"""Tasks whose arguments are on disk are sent when these are back, and in their order."""

from __future__ import annotations

from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.objects.store import DelayedSends
from nbaccel.local_engine.head.records import TaskEntry, WorkerProcess
from nbaccel.scheduling.commands import SendTasks
from tests.local_engine.head.objects.conftest import CAPACITY, Room

HALF = CAPACITY // 2


class Order:
    """A SendTasks as far as its sending goes."""

    def __init__(self, task_id: bytes, *arguments: bytes) -> None:
        self.task = self
        self.worker_id = b"w"
        slots = [(place, id) for place, id in enumerate(arguments)]
        self.payload: Any = TaskEntry(wire.Submit(task_id, 0, b"", slots), None, 1, 0.0)  # type: ignore[arg-type]


class Sending:
    """One worker, and what was sent to it."""

    def __init__(self, room: Room) -> None:
        self.worker = WorkerProcess(b"w", b"n", None, None)
        self.sent: list[bytes] = []
        self.answered: list[tuple[Any, Exception]] = []
        self.raises: Exception | None = None
        self.held = DelayedSends(
            room.clock, room.objects, room.store.when_here, {b"w": self.worker},
            transmit=self._transmit, answer=self._answer,
        )  # fmt: skip

    def _transmit(self, command: SendTasks, worker: WorkerProcess, entry: TaskEntry) -> None:
        if self.raises is not None:
            raise self.raises
        self.sent.append(entry.submit.task_id)

    def _answer(self, command: SendTasks, error: Exception) -> None:
        self.answered.append((command, error))
        self.held.forget(command)

    def send(self, task_id: bytes, *arguments: bytes) -> Any:
        order: Any = Order(task_id, *arguments)
        if not self.held.holds_back(order, self.worker, order.payload):
            self.sent.append(task_id)
        return order


@pytest.fixture
def sending(room: Room) -> Sending:
    """Object `x` is on disk, and half of the store is free."""
    maker = room.out.add(1, "worker")
    room.put_large(maker, b"x", HALF)
    room.put_large(maker, b"other", HALF)
    room.objects.records[b"other"].last_used = 1.0
    room.receive(maker, wire.Allocate(9, HALF))
    (order,) = room.orders_to_mover()
    room.mover_reports(order)
    (answer,) = room.out.taken(1)
    room.receive(maker, wire.GiveUp(answer.offset, 9))
    room.store.collect()
    return Sending(room)


def test_a_task_that_needs_nothing_from_disk_is_sent_at_once(sending: Sending) -> None:
    sending.send(b"task", b"other")
    assert sending.sent == [b"task"]


def test_tasks_behind_one_that_waits_keep_their_order(room: Room, sending: Sending) -> None:
    sending.send(b"first", b"x")
    sending.send(b"second")
    sending.send(b"third", b"x")
    assert sending.sent == []
    (order,) = room.orders_to_mover()
    room.mover_reports(order)
    assert sending.sent == [b"first", b"second", b"third"]
    assert room.objects.records[b"x"].kept == 0


def test_what_a_task_is_about_to_get_stays_in_the_arena(room: Room, sending: Sending) -> None:
    sending.send(b"task", b"other", b"x")
    assert room.objects.records[b"other"].kept == 1
    assert b"other" not in ledger.victims(room.objects, HALF)


def test_a_task_that_is_forgotten_lets_those_behind_it_go(room: Room, sending: Sending) -> None:
    first = sending.send(b"first", b"x")
    sending.send(b"second")
    sending.held.forget(first)
    room.clock.jump()
    assert sending.sent == [b"second"]


def test_a_task_that_cannot_be_sent_is_answered_and_those_behind_it_go(room: Room, sending: Sending) -> None:
    first = sending.send(b"first", b"x")
    sending.send(b"second")
    sending.raises = OSError("no")
    (order,) = room.orders_to_mover()
    room.mover_reports(order)
    assert [command for command, _error in sending.answered] == [first]
    sending.raises = None
    room.clock.jump()
    assert sending.sent == [b"second"]


def test_a_task_whose_argument_cannot_come_back_is_sent_with_the_reason(room: Room, sending: Sending) -> None:
    sending.send(b"task", b"x")
    (order,) = room.orders_to_mover()
    room.mover_reports(order, "Input/output error")
    assert sending.sent == [b"task"] and "Input/output error" in sending.worker.refused[b"x"]


def test_a_worker_that_has_ended_is_sent_nothing(room: Room, sending: Sending) -> None:
    sending.send(b"task", b"x")
    sending.worker.ended = True
    (order,) = room.orders_to_mover()
    room.mover_reports(order)
    assert sending.sent == [] and sending.worker.held == []
