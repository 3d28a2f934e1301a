"""Messages that come together, through a real head: handled together, each task has what it would have alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Peer
from nbaccel.local_engine.head.records import entry_of
from nbaccel.local_engine.wire.ids import IdMaker, return_id
from nbaccel.scheduling import commands as do
from nbaccel.scheduling import events as ev
from tests.local_engine.head.test_failed_commands import assert_all_ended
from tests.local_engine.head_world import TEMPLATES, FakeWorker, HeadWorld

TASK = list(TEMPLATES).index("task")


class Burst(HeadWorld):
    """A head world that counts what its scheduler is told of tasks, and what it orders."""

    def __init__(self) -> None:
        self.notified: Counter[type] = Counter()
        super().__init__()
        handle = self.wiring.scheduler.handle

        def counting(event: ev.Event, now: float) -> Any:
            commands = handle(event, now)
            self.notified.update([type(event), *map(type, commands)])
            return commands

        self.wiring.scheduler.handle = counting  # type: ignore[method-assign]

    def running_several(self, number: int = 120) -> FakeWorker:
        """A worker that has been sent tasks ahead of time."""
        self.submit_together("task", number)
        for _ in range(6):
            self.return_together(self.running()[0], 1)
        worker = max(self.running(), key=lambda each: len(each.runs))
        assert len(worker.runs) > 8
        self.notified.clear()
        return worker


@pytest.fixture
def burst() -> Iterator[Burst]:
    made = Burst()
    yield made
    made.end()


def test_tasks_that_come_in_one_frame_are_one_event(burst: Burst) -> None:
    ids = burst.submit_together("task", 10)
    assert burst.notified[ev.TasksSubmitted] == 1
    waiting = [record.task.task_id for record in burst.wiring.scheduler.waiting()]
    assert len(waiting) == 8 and waiting == ids[2:]


def test_only_the_arguments_of_a_task_that_waits_are_kept_until_somebody_looks_at_it(burst: Burst) -> None:
    ids = [IdMaker(1).task_id() for _ in range(10)]
    burst.send(*(wire.Submit(id, TASK, b"%d" % number) for number, id in enumerate(ids)))
    burst.settle()
    last = burst.wiring.scheduler.task_record(ids[-1])
    assert last is not None and last.task.payload == b"9"
    entry = entry_of(last.task)
    assert (entry.submit, entry.terms) == (wire.Submit(ids[-1], 0, b"9"), last.task.terms)
    assert entry.submitted_at == last.task.submitted_at and burst.wiring.peers[entry.client_id].role == "driver"
    entry.note = "seen"
    assert entry_of(last.task) is entry and entry_of(last.task).note == "seen"


def test_each_task_of_a_long_line_runs_with_its_own_arguments(burst: Burst) -> None:
    ids = [IdMaker(1).task_id() for _ in range(40)]
    burst.send(*(wire.Submit(id, TASK, b"%d" % number) for number, id in enumerate(ids)))
    burst.settle()
    ran: dict[bytes, bytes] = {}
    while workers := burst.running():
        for worker in workers:
            ran |= {run.task_id: run.args for run in worker.runs}
            burst.return_together(worker, 4)
    assert ran == {id: b"%d" % number for number, id in enumerate(ids)}


def test_what_is_not_plain_is_told_alone_in_its_place(burst: Burst) -> None:
    argument = return_id(burst.submit_together("task", 2)[0], 0)
    ids = [IdMaker(1).task_id() for _ in range(5)]
    messages = [wire.Submit(id, TASK) for id in ids]
    messages[2].slots = [(0, argument)]
    burst.notified.clear()
    burst.send(*messages)
    burst.settle()
    assert burst.notified[ev.TasksSubmitted] == 3
    records = [burst.wiring.scheduler.task_record(id) for id in ids]
    assert [record.seq for record in records if record] == sorted(record.seq for record in records if record)
    assert len({record.seq for record in records if record}) == 5


def test_answers_that_come_in_one_frame_are_one_event_and_their_results_reach_the_driver(burst: Burst) -> None:
    worker = burst.running_several()
    runs = worker.runs[:8]
    burst.return_together(worker, 8)
    assert burst.notified[ev.TasksReturned] == 1
    assert burst.notified[do.FinishTasks] == 1 and burst.notified[do.SendTasks] == 1
    assert all(burst.values[return_id(run.task_id, 0)] == wire.OK for run in runs)
    for run in runs:
        entry = burst.wiring.scheduler.task_record(run.task_id).task.payload  # type: ignore[union-attr]
        assert (entry.started_at, entry.finished_at, entry.results, entry.pinned) == (5.0, 5.0, None, False)
    burst.finish()
    assert_all_ended(burst)


def test_an_error_among_answers_is_told_alone(burst: Burst) -> None:
    worker = burst.running_several()
    runs, worker.runs = worker.runs[:7], worker.runs[7:]
    answers = [wire.Done(run.task_id, [wire.ReturnValue(wire.Value(wire.OK, b"x"))], times=[5.0, 5.0]) for run in runs]
    answers[3].failed, answers[3].note = True, "ValueError: no"
    answers[3].results[0].value.status = wire.RAISED
    worker.sock.send(wire.frame(answers))
    burst.settle()
    assert burst.notified[ev.TasksReturned] == 3
    said = [burst.values[return_id(run.task_id, 0)] for run in runs]
    assert said == [wire.RAISED if index == 3 else wire.OK for index in range(7)]


def test_nothing_of_a_first_try_that_failed_is_left_when_the_second_ends_well_among_others(burst: Burst) -> None:
    worker = burst.running_several()
    run = worker.runs.pop(0)
    raised = [wire.ReturnValue(wire.Value(wire.RAISED, b"x"))]
    answer = wire.Done(
        run.task_id, raised, failed=True, retry=True, note="ValueError: no", traceback="…", times=[4.0, 4.0]
    )
    worker.sock.send(wire.frame([answer]))
    burst.settle()
    record = burst.wiring.scheduler.task_record(run.task_id)
    assert record is not None and record.attempt == 1 and record.task.payload.failed
    while not record.over:
        for each in burst.running():
            burst.return_together(each, 8)
    entry = record.task.payload
    assert (entry.failed, entry.note, entry.error_type, entry.traceback) == (False, "", "", "")
    assert burst.values[return_id(run.task_id, 0)] == wire.OK


def test_a_result_that_another_task_waits_for_is_announced_to_it(burst: Burst) -> None:
    worker = burst.running_several()
    awaited = worker.runs[2].task_id
    follower = burst.submit("task", awaited)
    burst.return_together(worker, 6)
    record = burst.wiring.scheduler.task_record(follower)
    assert record is not None and not record.missing
    burst.finish()
    assert_all_ended(burst)


def test_a_result_that_its_submitter_has_let_go_of_is_dropped(burst: Burst) -> None:
    worker = burst.running_several()
    ids = [return_id(run.task_id, 0) for run in worker.runs[:6]]
    burst.send(wire.DropRef(ids[1:3]))
    burst.settle()
    burst.return_together(worker, 6)
    assert [id in burst.values for id in ids] == [True, False, False, True, True, True]
    assert not burst.wiring.objects.records.keys() & set(ids[1:3])


@pytest.mark.parametrize("order", [do.SendTasks, do.FinishTasks])
@pytest.mark.parametrize("call", range(24))
def test_whatever_an_order_about_several_tasks_raises_each_of_them_ends(burst: Burst, order: type, call: int) -> None:
    worker = burst.running_several()
    ids = [return_id(run.task_id, 0) for run in worker.runs[:8]]
    with burst.fault(order, call):
        burst.return_together(worker, 8)
    assert burst.fault_fired == 1
    burst.jump(1.0)
    assert [burst.values.get(id) for id in ids] == [wire.OK] * 8, "the driver waits for results that are there"
    burst.finish()
    assert_all_ended(burst)


@pytest.mark.parametrize("kind", [wire.ObjectValues, wire.RunTasks])
def test_a_message_that_could_not_be_begun_is_begun_for_the_next_task(burst: Burst, kind: type) -> None:
    worker = burst.running_several()
    runs = worker.runs[:8]
    tasks = burst.wiring.tasks
    part: Any = {wire.ObjectValues: tasks.flow.conclusions, wire.RunTasks: tasks.sending}[kind]
    send, failed = part._send, list[Any]()

    def failing(peer: Peer, message: Any) -> None:
        if type(message) is kind and not failed:
            failed.append(message)
            raise OSError("no")
        send(peer, message)

    part._send = failing
    burst.return_together(worker, 8)
    assert failed and [burst.values.get(return_id(run.task_id, 0)) for run in runs] == [wire.OK] * 8
    queues = {record.worker_id: record.queue for record in burst.wiring.scheduler._workers.records.values()}
    sent = [record.task.task_id for record in queues[worker.worker_id]]
    assert sent == [run.task_id for run in worker.runs]
    burst.finish()
    assert_all_ended(burst)


def test_a_message_that_the_scheduler_refuses_does_not_take_others_with_it(burst: Burst) -> None:
    (used,) = burst.submit_together("task", 1)
    ids = [IdMaker(1).task_id() for _ in range(3)]
    burst.send(*(wire.Submit(id, TASK) for id in (ids[0], used, *ids[1:])))
    burst.settle()
    assert all(burst.wiring.scheduler.task_record(id) is not None for id in ids)
    assert sum("An id is in use" in line for line in burst.wiring.note.lines) == 1
