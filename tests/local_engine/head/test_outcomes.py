"""What becomes of tasks: errors, objects and entries, without a head."""

from __future__ import annotations

import pytest

from nbaccel import exceptions
from nbaccel.local_engine import wire
from nbaccel.local_engine.head import outcomes
from nbaccel.local_engine.head.records import ActorEntry, TaskEntry
from nbaccel.local_engine.wire import failures
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling.commands import ActorChanged, FailTask, Failure
from nbaccel.scheduling.moves import FAILED
from nbaccel.scheduling.tasks import TaskRecord
from nbaccel.scheduling.terms import Choice, Task, TaskKind, Terms

TASK_ID, ACTOR_ID = b"t" * 24, b"a" * 16
ERROR = wire.Value(wire.RAISED, b"pickled")


def terms(kind: TaskKind = TaskKind.TASK, num_returns: int = 1) -> Terms:
    return Terms("f", kind, function_key=b"f", choices=(Choice((("CPU", 10_000),)),), num_returns=num_returns)


def task(kind: TaskKind = TaskKind.TASK, num_returns: int = 1) -> Task:
    of = terms(kind, num_returns)
    entry = TaskEntry(wire.Submit(TASK_ID, 1), of, 1, 0.0)
    return Task(of, TASK_ID, entry, actor_id=ACTOR_ID if kind is not TaskKind.TASK else None)


def actor(worker_id: bytes = b"") -> ActorEntry:
    creation = task(TaskKind.ACTOR_CREATION)
    return ActorEntry(ACTOR_ID, creation.terms, 1, 1, "", "", creation=creation, worker_id=worker_id)


KILLED = outcomes.WorkerEnding(7, None, 9)


def error_of(command: FailTask, of: ActorEntry | None = None, ending: outcomes.WorkerEnding = KILLED) -> Exception:
    value = outcomes.failure_value(command, of, ending)
    error = failures.error_of(value.status, value.data or b"")
    assert isinstance(error, Exception)
    return error


@pytest.mark.parametrize("failure", Failure)
def test_every_failure_is_an_error_with_the_schedulers_words(failure: Failure) -> None:
    error = error_of(FailTask(task(), failure, "f came to nothing."))
    assert isinstance(error, exceptions.RayError)
    assert "f came to nothing" in str(error)


def test_a_crash_tells_the_process_and_its_signal() -> None:
    error = error_of(FailTask(task(), Failure.WORKER_CRASHED, "f ended."))
    assert isinstance(error, exceptions.WorkerCrashedError)
    assert (error.pid, error.signal_number) == (7, 9)


def test_an_actor_without_a_place_is_unschedulable_and_so_are_its_calls() -> None:
    of = actor()
    creation = FailTask(task(TaskKind.ACTOR_CREATION), Failure.UNSCHEDULABLE, "There is no GPU.")
    call = FailTask(task(TaskKind.ACTOR_CALL), Failure.ACTOR_DIED, "The actor is dead.")
    assert isinstance(error_of(creation, of), exceptions.ActorUnschedulableError)
    assert isinstance(error_of(call, of), exceptions.ActorUnschedulableError)


def test_an_actor_that_had_a_place_once_is_dead() -> None:
    creation = FailTask(task(TaskKind.ACTOR_CREATION), Failure.GROUP_REMOVED, "Its group is gone.")
    assert type(error_of(creation, actor(worker_id=b"w"))) is exceptions.ActorDiedError


def test_calls_of_an_actor_whose_environment_failed_get_that_error() -> None:
    of = actor()
    outcomes.note_failed_creation(of, failures.failed("RuntimeEnvSetupError", "pip failed."))
    call = FailTask(task(TaskKind.ACTOR_CALL), Failure.ACTOR_DIED, "The actor is dead.")
    assert isinstance(error_of(call, of), exceptions.RuntimeEnvSetupError)


def test_results_become_objects_in_order() -> None:
    values = [wire.ReturnValue(wire.Value(wire.OK, b"1")), wire.ReturnValue(wire.Value(wire.OK, b"2"))]
    assert outcomes.objects_of(task(num_returns=2), values) == [
        (return_id(TASK_ID, 0), values[0]),
        (return_id(TASK_ID, 1), values[1]),
    ]
    assert outcomes.objects_of(task(TaskKind.ACTOR_CREATION), values) == []
    assert outcomes.objects_of(task(num_returns=0), values) == []


def test_what_a_stream_raises_is_its_last_item_and_the_stream_itself_ends_well() -> None:
    stream, results = task(num_returns=wire.STREAMING), [wire.ReturnValue(ERROR)]
    ((id, end),) = outcomes.objects_of(stream, results)
    assert (id, end.value) == (return_id(TASK_ID, 0), outcomes.NOTHING)
    assert outcomes.last_item(stream, 3, results) == (return_id(TASK_ID, 4), ERROR)
    assert outcomes.last_item(stream, 3, [wire.ReturnValue(outcomes.NOTHING)]) is None


def test_a_stream_whose_process_died_ends_with_that_error() -> None:
    crash = failures.failed("WorkerCrashedError", "It was killed.")
    ((_id, end),) = outcomes.objects_of(task(num_returns=wire.STREAMING), [wire.ReturnValue(crash)])
    assert end.value == crash


def test_an_attempt_that_failed_leaves_no_error_on_a_task_that_succeeds() -> None:
    entry: TaskEntry = task().payload
    outcomes.note_done(entry, wire.Done(TASK_ID, [wire.ReturnValue(ERROR)], failed=True, note="KeyError: 1"), 1.0)
    assert entry.error_type == outcomes.RAISED
    outcomes.note_done(entry, wire.Done(TASK_ID, [wire.ReturnValue(outcomes.NOTHING)]), 2.0)
    assert (entry.failed, entry.error_type, entry.note, entry.finished_at) == (False, "", "", 2.0)


def test_an_arguments_error_is_told_once_however_far_it_travels() -> None:
    first, second, third = task(), task(), task()
    outcomes.note_done(
        first.payload, wire.Done(TASK_ID, [wire.ReturnValue(ERROR)], failed=True, note="KeyError: 1"), 1.0
    )
    for source, heir in ((first, second), (second, third)):
        outcomes.note_failed_argument(heir.payload, TaskRecord(source, None, None, 1, 0.0, state=FAILED), 2.0)
    assert third.payload.note == "an argument failed: KeyError: 1"
    assert third.payload.error_type == outcomes.RAISED


def test_an_actors_state_is_in_rays_words() -> None:
    of = actor()
    for state in ("PENDING", "ALIVE", "RESTARTING", "PENDING"):
        outcomes.note_actor(of, ActorChanged(ACTOR_ID, state, "why"))
    assert (of.state, of.restarts, of.why) == ("PENDING_CREATION", 1, "why")


def test_a_call_ran_as_long_as_its_worker_says_however_long_it_waited_there() -> None:
    entry = task(TaskKind.ACTOR_CALL).payload
    entry.started_at = 1.0  # sent to its process
    outcomes.note_done(entry, wire.Done(TASK_ID, [], times=[5.0, 5.001, 5.002, 5.003]), 6.0)
    assert (entry.started_at, entry.finished_at) == (5.0, 5.003)


def test_a_call_whose_worker_says_no_times_ended_when_the_head_heard_of_it() -> None:
    entry = task(TaskKind.ACTOR_CALL).payload
    entry.started_at = 1.0
    outcomes.note_done(entry, wire.Done(TASK_ID, []), 6.0)
    assert (entry.started_at, entry.finished_at) == (1.0, 6.0)
