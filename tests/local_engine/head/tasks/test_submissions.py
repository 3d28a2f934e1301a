"""Tasks that clients submit, as the scheduler hears of them."""

from __future__ import annotations

import msgspec
import pytest

from nbaccel.handles.option_checks import MOST_RETURNS
from nbaccel.local_engine import wire
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling.events import ArgumentFailed, CancelRequested
from nbaccel.scheduling.terms import TaskKind
from tests.local_engine.head.tasks.conftest import DRIVER, JOB, Room
from tests.local_engine.head_world import TEMPLATES

GOOD, BAD = wire.Value(wire.OK, b"x"), wire.Value(wire.FAILED, b"error")


def test_a_submitted_task_promises_its_results_and_is_told(room: Room) -> None:
    task = room.submit("pair")
    assert (task.terms.name, task.job, task.kind, task.missing) == ("pair", JOB, TaskKind.TASK, None)
    assert task.terms.refuse_infeasible and task.terms.pool.zygote == "/usr"
    assert [room.objects.records[return_id(task.task_id, index)].owner for index in range(2)] == [DRIVER] * 2


def test_arguments_that_are_not_there_are_named_and_all_are_kept(room: Room) -> None:
    room.there(b"here", GOOD)
    ledger.promise(room.objects, b"coming", DRIVER)
    task = room.submit("task", b"here", b"coming", refs=(b"here",))
    assert task.missing == {b"coming"}
    assert room.objects.records[b"here"].pins == 2 and room.objects.records[b"coming"].pins == 1
    room.arguments.let_go(task.payload, task)
    room.arguments.let_go(task.payload, task)  # the second time is nothing
    ledger.take_freed(room.objects)
    assert room.objects.records[b"here"].pins == 0 and not task.payload.pinned


def test_a_task_whose_argument_is_an_error_fails_at_once(room: Room) -> None:
    room.there(b"bad", BAD)
    task = room.submit("task", b"bad")
    assert room.broken == [(task.task_id, b"bad")] and room.were_read == [b"bad"]
    assert [type(event) for event in room.others] == [ArgumentFailed]


def test_a_task_whose_argument_was_released_fails_at_once(room: Room) -> None:
    task = room.submit("task", b"unknown")
    assert room.broken == [(task.task_id, b"unknown")]


def test_a_call_keeps_its_actor_alive_and_a_creation_is_told_to_the_actors(room: Room) -> None:
    room.submit("actor", actor_id=b"a")
    assert room.created == [b"a"]
    ledger.promise(room.objects, b"a", DRIVER)
    call = room.submit("call", actor_id=b"a")
    assert room.objects.records[b"a"].pins == 1
    room.arguments.unpin(call.payload, call)
    ledger.take_freed(room.objects)
    assert room.objects.records[b"a"].pins == 0


def test_a_constructor_that_may_run_again_keeps_its_arguments(room: Room) -> None:
    room.there(b"x", GOOD)
    creation = room.submit("actor", b"x", actor_id=b"a")  # max_restarts=1
    room.arguments.let_go(creation.payload, creation)
    assert creation.payload.pinned
    creation.payload.failed = True
    room.arguments.let_go(creation.payload, creation)
    assert not creation.payload.pinned


def test_the_cell_is_named_with_its_notebook_where_several_share_the_head(room: Room) -> None:
    terms = msgspec.structs.replace(TEMPLATES["task"], cell="[7] line 3")
    room.receive(room.driver, wire.DefineTemplate(99, terms))
    assert room.driver.templates[99].cell_in_words == "[7] line 3 of a.ipynb"


def test_terms_with_too_many_results_are_refused(room: Room) -> None:
    with pytest.raises(ValueError, match="return values"):
        room.receive(
            room.driver,
            wire.DefineTemplate(99, msgspec.structs.replace(TEMPLATES["pair"], num_returns=MOST_RETURNS + 1)),
        )


def test_a_task_that_the_head_could_not_take_gets_an_error_for_each_result(room: Room) -> None:
    message = wire.Submit(b"t" * 24, list(TEMPLATES).index("pair"))
    room.submissions.failed(room.driver, message, RuntimeError("no"))
    assert [id for id, _value in room.filled] == [return_id(b"t" * 24, index) for index in range(2)]
    assert all(value.status == wire.FAILED for _id, value in room.filled)


def test_a_cancellation_is_passed_on(room: Room) -> None:
    assert room.receive(room.driver, wire.Cancel(b"t", True, False)) == [CancelRequested(b"t", True, False)]
