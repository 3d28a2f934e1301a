"""The calls of failed tasks: which are kept, for how long, and what runs them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import QuestionError
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.records import CANCELLED, TaskEntry
from nbaccel.local_engine.head.tasks.submissions import KEPT_S, MOST_CALLS, Arguments
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling.terms import Task
from nbaccel.views.observer_lines import RetryTask
from tests.local_engine.head.tasks.conftest import DRIVER, JOB, Room

MOST_BYTES = 1000


class Timers:
    """A clock that stands still, and what is due when."""

    def __init__(self) -> None:
        self.time = 0.0
        self.due: list[tuple[float, Callable[[], None]]] = []

    def now(self) -> float:
        return self.time

    def at(self, when: float, call: Callable[[], None]) -> None:
        self.due.append((when, call))

    def after(self, pause_s: float, call: Callable[[], None]) -> None:
        self.at(self.time + pause_s, call)

    def jump(self, seconds: float) -> None:
        self.time += seconds
        due, self.due = self.due, []
        for when, call in due:
            if when <= self.time:
                call()
            else:
                self.due.append((when, call))


@pytest.fixture
def timers() -> Timers:
    return Timers()


@pytest.fixture
def keeping(room: Room, timers: Timers) -> Room:
    """The tasks' room, with the calls of failed tasks kept."""
    room.arguments = room.submissions._arguments = Arguments(room.objects, timers, MOST_BYTES)
    return room


def fails(room: Room, task: Task, error_type: str = "TASK_EXECUTION_EXCEPTION") -> TaskEntry:
    """The task fails, and its arguments are no longer needed."""
    entry: TaskEntry = task.payload
    entry.failed, entry.error_type = True, error_type
    room.arguments.let_go(entry, task)
    ledger.take_freed(room.objects)
    return entry


def there(room: Room, id: bytes, size_bytes: int = 1) -> None:
    room.there(id, wire.Value(wire.OK, b"x" * size_bytes))


def ask(room: Room, question: Any) -> Any:
    (row,) = [row for row in room.submissions.answers() if row.question is type(question)]
    return row.answer(room.driver, question)


def test_a_failed_call_is_kept_with_its_arguments_and_runs_again_as_a_new_task(keeping: Room) -> None:
    there(keeping, b"x")
    failed = keeping.submit("pair", b"x")
    assert fails(keeping, failed).retryable and keeping.objects.records[b"x"].pins == 1
    new_id = bytes.fromhex(ask(keeping, RetryTask(failed.task_id.hex())))
    again = keeping.events[-1].tasks[0]
    entry: TaskEntry = again.payload
    assert (again.task_id, entry.retry_of, again.terms) == (new_id, failed.task_id, failed.terms)
    assert entry.submit.slots == [(0, b"x")] and again.parent_task_id is None
    assert keeping.objects.records[b"x"].pins == 1, "the argument belongs to the new task now"
    assert [keeping.objects.records[return_id(new_id, index)].owner for index in range(2)] == [DRIVER] * 2
    assert ask(keeping, asks.FindResults(new_id.hex())) == [return_id(new_id, 0), return_id(new_id, 1)]


def test_a_call_runs_again_once_and_its_successor_once_more(keeping: Room) -> None:
    failed = keeping.submit("task")
    entry = fails(keeping, failed)
    ask(keeping, RetryTask(failed.task_id.hex()))
    assert not entry.retryable
    with pytest.raises(QuestionError, match="ten minutes"):
        ask(keeping, RetryTask(failed.task_id.hex()))
    assert fails(keeping, keeping.events[-1].tasks[0]).retryable


def test_what_ends_well_or_is_cancelled_is_not_kept(keeping: Room) -> None:
    there(keeping, b"x")
    for end in (
        lambda task: keeping.arguments.let_go(task.payload, task),
        lambda task: fails(keeping, task, CANCELLED),
    ):
        task = keeping.submit("task", b"x")
        end(task)
        ledger.take_freed(keeping.objects)
        assert not task.payload.retryable and keeping.objects.records[b"x"].pins == 0


@pytest.mark.parametrize("template", ["stream", "call"])
def test_streams_and_calls_of_actors_are_not_kept(keeping: Room, template: str) -> None:
    ledger.promise(keeping.objects, b"a", DRIVER)
    assert not fails(keeping, keeping.submit(template, actor_id=b"a" if template == "call" else b"")).retryable


def test_a_call_whose_argument_is_an_error_or_gone_is_not_kept(keeping: Room) -> None:
    keeping.there(b"bad", wire.Value(wire.FAILED, b"error"))
    assert not fails(keeping, keeping.submit("task", b"bad")).retryable
    assert not fails(keeping, keeping.submit("task", b"unknown")).retryable


def test_no_actor_lives_longer_for_a_kept_call(keeping: Room) -> None:
    ledger.promise(keeping.objects, b"actor", DRIVER)
    keeping.objects.actor_ids.add(b"actor")
    ledger.promise(keeping.objects, b"list", DRIVER)
    ledger.fill(keeping.objects, b"list", wire.Value(wire.OK, b"x"), [b"actor"])
    for argument in (b"actor", b"list"):
        assert not fails(keeping, keeping.submit("task", refs=(argument,))).retryable


def test_a_call_is_let_go_after_ten_minutes(keeping: Room, timers: Timers) -> None:
    there(keeping, b"x")
    first = fails(keeping, keeping.submit("task", b"x"))
    timers.jump(KEPT_S / 2)
    second = fails(keeping, keeping.submit("task", b"x"))
    timers.jump(KEPT_S / 2)
    assert (first.retryable, second.retryable) == (False, True)
    timers.jump(KEPT_S / 2)
    ledger.take_freed(keeping.objects)
    assert not second.retryable and keeping.objects.records[b"x"].pins == 0 and not timers.due


def test_the_oldest_calls_go_when_there_are_too_many_or_they_are_too_large(keeping: Room) -> None:
    there(keeping, b"half", MOST_BYTES // 2)
    there(keeping, b"large", MOST_BYTES + 1)
    entries = [fails(keeping, keeping.submit("task", b"half")) for _ in range(3)]
    assert [entry.retryable for entry in entries] == [False, True, True]
    assert not fails(keeping, keeping.submit("task", b"large")).retryable
    many = [fails(keeping, keeping.submit("task")) for _ in range(MOST_CALLS)]
    assert not entries[-1].retryable and all(entry.retryable for entry in many)


def test_a_job_that_ends_takes_its_calls_with_it(keeping: Room) -> None:
    there(keeping, b"x")
    before, late = keeping.submit("task", b"x"), keeping.submit("task", b"x")
    fails(keeping, before)
    assert keeping.arguments.failed_calls is not None
    keeping.arguments.failed_calls.job_ended(JOB)
    fails(keeping, late)
    assert not before.payload.retryable and not late.payload.retryable and keeping.objects.records[b"x"].pins == 0


def test_a_head_that_keeps_no_calls_refuses_in_words(room: Room) -> None:
    with pytest.raises(QuestionError, match="cannot be run again"):
        ask(room, RetryTask("ab" * 24))
    for id, words in (("cd" * 24, "no result here"), ("odd", "not the hex id")):
        with pytest.raises(QuestionError, match=words):
            ask(room, asks.FindResults(id))
