"""Many tasks in one event: what follows is what follows from each of them in turn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbaccel.scheduling import commands as do
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.moves import IllegalEvent
from nbaccel.scheduling.terms import Task
from tests.scheduling.world import FakeWorker, World, choice, node

QUICK_S = 0.0001


def busy(world: World, number: int = 200) -> FakeWorker:
    """The only worker, which runs short tasks and has been sent as many more as it may have."""
    world.submit_together(number)
    world.ready()
    (worker,) = (worker for worker in world.workers.values() if worker.queue)
    for _ in range(8):
        world.returns(worker.queue[0], QUICK_S, took_s=QUICK_S)
    return worker


def test_tasks_that_come_together_wait_in_their_order() -> None:
    world = World(node(CPU=1), spares=0)
    before = world.submit("f")
    tasks = world.submit_together(3)
    last = world.submit("f")
    waiting = [record.task for record in world.scheduler.waiting()]
    assert world.scheduler.task_record(before.task_id) and waiting == [*tasks, last]
    assert world.scheduler.counts()["PENDING_NODE_ASSIGNMENT"] == 4


def test_several_start_at_once_where_there_is_room() -> None:
    world = World(node(CPU=3), spares=0)
    tasks = world.submit_together(5)
    assert len(world.of(do.StartWorker)) == 3
    world.ready()
    assert [world.is_sent(task) for task in tasks] == [True] * 3 + [False] * 2


def test_a_worker_is_sent_its_next_tasks_in_one_order_when_several_have_returned() -> None:
    world = World(node(CPU=1), spares=0)
    worker = busy(world)
    held = list(worker.queue)
    assert len(held) == 64
    done = world.return_together(worker, 20, QUICK_S)
    (finish,), (send,) = world.of(do.FinishTasks), world.of(do.SendTasks)
    assert finish.tasks == done == held[:20] and len(send.tasks) == 20 and not send.first
    assert worker.queue == held[20:] + send.tasks
    assert world.scheduler.task_record(worker.queue[0].task_id).state.name == "RUNNING"  # type: ignore[union-attr]


def test_the_next_window_begins_at_once_when_all_have_returned() -> None:
    world = World(node(CPU=1), spares=0)
    worker = busy(world)
    world.return_together(worker, len(worker.queue), QUICK_S)
    (send,) = world.of(do.SendTasks)
    assert send.first and len(send.tasks) == 64


def test_when_tasks_turn_out_to_be_long_none_are_sent_ahead() -> None:
    world = World(node(CPU=1), spares=0)
    worker = busy(world)
    world.return_together(worker, 10, 0.5)
    assert not world.of(do.SendTasks) and world.scheduler.worker_record(worker.worker_id).window == 1  # type: ignore[union-attr]


def test_the_last_ones_end_the_loan_of_the_worker() -> None:
    world = World(node(CPU=1), spares=0)
    worker = busy(world, 20)
    while worker.queue:
        world.return_together(worker, len(worker.queue), QUICK_S)
    assert world.scheduler.node_available(b"head") == world.scheduler.node_totals(b"head")
    assert not list(world.scheduler.running()) and len(world.outcomes) == 20


def test_what_has_an_id_in_use_is_refused_with_all_that_came_with_it() -> None:
    world = World(node(CPU=1), spares=0)
    used = world.submit("f")
    fresh = Task(used.terms, b"new")
    for tasks in ([fresh, Task(used.terms, used.task_id)], [fresh, fresh]):
        with pytest.raises(IllegalEvent, match="An id is in use"):
            world.notify(ev.TasksSubmitted(tasks))
    assert world.scheduler.task_record(b"new") is None


def test_tasks_that_are_not_alike_are_refused_together() -> None:
    world = World(node(CPU=1), spares=0)
    one = world.task("f")
    for other in (world.task("g"), Task(one.terms, b"a", missing={b"o"}), Task(one.terms, b"b", parent_task_id=b"t")):
        with pytest.raises(IllegalEvent, match="not alike"):
            world.notify(ev.TasksSubmitted([one, other]))


def test_returns_of_what_the_worker_does_not_run_are_refused_together() -> None:
    world = World(node(CPU=1), spares=0)
    worker = busy(world)
    first, second = (task.task_id for task in worker.queue[:2])
    for ids in ([second, first], [first, b"?"], [second]):
        with pytest.raises(IllegalEvent, match="others or none"):
            world.notify(ev.TasksReturned(worker.worker_id, [ev.TaskReturn(id, took_s=QUICK_S) for id in ids]))
    assert world.scheduler.task_record(first).state.name == "RUNNING"  # type: ignore[union-attr]


def test_a_return_is_told_alone_when_one_of_them_was_cancelled_in_its_worker() -> None:
    world = World(node(CPU=1), spares=0)
    worker = busy(world)
    cancelled = worker.queue[3]
    world.notify(ev.CancelRequested(cancelled.task_id, False, False))
    done = world.return_together(worker, 6, QUICK_S)
    assert world.outcomes[cancelled.task_id] == "cancelled"
    assert all(world.outcomes[task.task_id] == "finished" for task in done if task is not cancelled)


def test_tasks_of_a_job_that_has_ended_fail_together() -> None:
    world = World(node(CPU=1), spares=0)
    world.submit("f")
    world.notify(ev.JobEnded(1))
    tasks = world.submit_together(3)
    assert [world.outcomes[task.task_id] for task in tasks] == ["job ended"] * 3


def test_tasks_of_nbaccels_own_that_come_together_are_in_no_count() -> None:
    world = World(node(CPU=1), spares=0)
    before = world.scheduler.counts()
    world.submit_together(3, internal=True)
    assert world.scheduler.counts() == before
    world.scheduler.check()


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 64), st.sampled_from([1, 2]), st.booleans()), max_size=8))
def test_two_worlds_told_together_and_apart_run_the_same_tasks_in_the_same_order(
    steps: list[tuple[int, int, int, bool]],
) -> None:
    """Only how many of them are with the worker already may differ."""
    together, apart = worlds = [World(node(CPU=1), spares=0) for _ in range(2)]
    for number, returned, cpus, other in steps:
        asked, name = choice(CPU=cpus), "g" if other else "f"
        together.submit_together(number, asked, name=name)
        for _ in range(number):
            apart.submit(name, asked)
        for world in worlds:
            world.ready()
        workers = [worker for world in worlds for worker in world.workers.values()]
        number = min([returned, *(len(worker.queue) for worker in workers)]) if workers else 0
        if number:
            together.return_together(workers[0], number, QUICK_S)
            for task in workers[1].queue[:number]:
                apart.returns(task, took_s=QUICK_S)
        assert together.outcomes == apart.outcomes
        assert in_order(together) == in_order(apart)
        assert list(together.scheduler.tasks_by_function()) and unfinished(together) == unfinished(apart)


def in_order(world: World) -> list[list[bytes]]:
    """The tasks that are not over: of each demand in the order in which they run."""
    queue = [task for worker in world.workers.values() for task in worker.queue]
    tasks = queue + [record.task for record in world.scheduler.waiting()]
    demands = {task.terms.choices[0].demand for task in tasks}
    return [[task.task_id for task in tasks if task.terms.choices[0].demand == each] for each in sorted(demands)]


def unfinished(world: World) -> dict[str, tuple[int, int]]:
    return {count.function: (count.came, count.unfinished) for count, _ in world.scheduler.tasks_by_function()}
