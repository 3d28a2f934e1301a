"""What workers say of the tasks that they run, as the scheduler hears of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.records import CANCELLED
from nbaccel.local_engine.head.tasks.flow import Returns
from nbaccel.scheduling.events import (
    ActorKillRequested,
    TaskReturn,
    TasksGivenBack,
    TasksReturned,
    WorkerBlocked,
    WorkerUnblocked,
)
from tests.local_engine.head.tasks.conftest import Room

VALUE, ERROR = wire.Value(wire.OK, b"x"), wire.Value(wire.RAISED, b"e")
LARGE = wire.Value(wire.OK, None, 4096, 100)


class Devices:
    """Looks at devices when we say so; `verdict` is why a worker must end."""

    def __init__(self) -> None:
        self.looks: list[Any] = []
        self.verdict = ""
        self.raises = False

    def after_failure(self, node_id: bytes, assigned: Any, then: Any) -> None:
        self.looks.append(then)

    def judge(self, worker: Any, record: Any, done: wire.Done, then: Any) -> None:
        if self.raises:
            raise OSError("no")
        then(self.verdict)


@pytest.fixture
def devices(room: Room) -> Devices:
    made = Devices()
    room.notes = []  # type: ignore[attr-defined]
    room.failed_creations = []  # type: ignore[attr-defined]
    returns = Returns(
        room.scheduler, room.objects, room.environments, room.events.append,
        room.notes.append, made,  # type: ignore[attr-defined]
        filled=lambda value, client: None,
        creation_failed=lambda entry, value: room.failed_creations.append(value),  # type: ignore[attr-defined]
        after_failure=made.after_failure, changed=lambda: None,
    )  # fmt: skip
    room.handlers |= returns.handlers()
    return made


def done(room: Room, task_id: bytes, value: wire.Value = VALUE, **facts: Any) -> list[Any]:
    return room.receive(room.peer, wire.Done(task_id, [wire.ReturnValue(value)], **facts))


def test_a_return_is_written_down_and_told(room: Room, devices: Devices) -> None:
    task_id = room.runs("task")
    (event,) = done(room, task_id)
    assert event == TasksReturned(room.worker.worker_id, [TaskReturn(task_id)])
    assert room.records[task_id].task.payload.results == [wire.ReturnValue(VALUE)]


def test_an_error_is_told_with_whether_it_may_be_tried_again(room: Room, devices: Devices) -> None:
    task_id = room.runs("task")
    (event,) = done(room, task_id, ERROR, failed=True, retry=True, note="ValueError: no")
    assert event.returns[0].failed and event.returns[0].retry
    room.records[task_id].task.retries_left = 0
    (event,) = done(room, task_id, ERROR, failed=True, retry=True, note="ValueError: no")
    assert not event.returns[0].retry


def test_a_cancelled_task_says_so(room: Room, devices: Devices) -> None:
    task_id = room.runs("task")
    (event,) = done(room, task_id, ERROR, failed=True, note="cancelled")
    assert event.returns[0].cancelled and room.records[task_id].task.payload.error_type == CANCELLED


def test_results_that_nobody_waits_for_are_dropped(room: Room, devices: Devices) -> None:
    task_id = room.runs("task")
    room.records[task_id].over = True
    done(room, task_id, LARGE)
    freed = ledger.take_freed(room.objects)
    assert freed is not None and freed.offsets == [4096]


def hold_devices(room: Room, task_id: bytes) -> None:
    room.records[task_id].hold = SimpleNamespace(parts=["a device"], place=SimpleNamespace(node_id=b"n"), devices={})


def test_the_devices_of_a_failed_task_are_looked_at_before_the_scheduler_hears(room: Room, devices: Devices) -> None:
    task_id = room.runs("train")
    hold_devices(room, task_id)
    devices.verdict = "it kept 3 GiB"
    assert done(room, task_id, ERROR, failed=True) == []
    devices.looks.pop()()
    (event,) = room.events
    assert event.returns[0].retire == "it kept 3 GiB"


def test_a_return_is_told_though_its_devices_could_not_be_judged(room: Room, devices: Devices) -> None:
    task_id = room.runs("train")
    hold_devices(room, task_id)
    devices.raises = True
    (event,) = done(room, task_id)
    assert "failed to see what it kept" in event.returns[0].retire
    assert "was not checked" in room.notes[0]  # type: ignore[attr-defined]


def test_an_actor_that_leaves_by_its_own_wish_is_ended(room: Room, devices: Devices) -> None:
    task_id = room.runs("call")
    room.worker.running_actor = b"a"
    kill, returned = done(room, task_id, exiting=True)
    assert type(kill) is ActorKillRequested and (kill.actor_id, kill.no_restart) == (b"a", True)
    assert type(returned) is TasksReturned


def test_the_error_of_a_constructor_is_kept_for_the_calls(room: Room, devices: Devices) -> None:
    task_id = room.runs("actor")
    done(room, task_id, ERROR, failed=True)
    assert room.failed_creations == [ERROR]  # type: ignore[attr-defined]


def test_what_else_a_worker_says_is_passed_on(room: Room, devices: Devices) -> None:
    worker_id = room.worker.worker_id
    assert room.receive(room.peer, wire.Blocked()) == [WorkerBlocked(worker_id)]
    assert room.receive(room.peer, wire.Unblocked()) == [WorkerUnblocked(worker_id)]
    assert room.receive(room.peer, wire.GivenBack([b"t"])) == [TasksGivenBack(worker_id, [b"t"])]
