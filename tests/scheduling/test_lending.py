"""Workers on loan: what is lent, that whoever waits gets it back, and what becomes of a task in each death."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbaccel.scheduling import commands as do
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.moves import FINISHED, IN_GET, RUNNING, WAITING
from nbaccel.scheduling.terms import Placement, Task
from tests.scheduling.lending_world import LOAN, LendingWorld
from tests.scheduling.world import choice


@pytest.fixture
def w() -> LendingWorld:
    return LendingWorld()


# ---- what is lent


def test_an_idle_worker_is_lent_with_the_resources_of_one_task(w: LendingWorld) -> None:
    assert w.free_cpus() == 2
    assert w.ask()
    assert w.free_cpus() == 1
    w.gives_back_loan()
    assert w.free_cpus() == 2


def test_a_loan_that_is_asked_for_twice_is_given_once(w: LendingWorld) -> None:
    assert w.ask()
    assert not w.ask()
    assert w.free_cpus() == 1


def test_no_process_is_started_for_a_loan() -> None:
    w = LendingWorld(idle=0)
    assert not w.ask()
    assert w.free_cpus() == 2


def test_nothing_is_lent_when_all_is_taken_or_somebody_waits(w: LendingWorld) -> None:
    busy = [w.submit("g"), w.submit("g")]
    w.ready()
    assert not w.ask()
    waiting = w.submit("g")
    w.returns(busy[0])
    assert w.is_sent(waiting)
    assert not w.ask()


@pytest.mark.parametrize(
    ("choices", "options"),
    [
        ((choice(GPU=1),), {}),
        ((choice(CPU=1, memory=1),), {}),
        ((choice(CPU=1, placement=Placement("SPREAD")),), {}),
        ((choice(CPU=1), choice(CPU=2)), {}),
        ((), {"num_returns": 2}),
        ((), {"environment": "e"}),
        ((), {"retry_exceptions": True}),
        ((), {"max_calls": 1}),
        ((), {"fresh": True}),
        ((), {"hide_unassigned": True}),
    ],
    ids=["device", "memory", "placement", "fallback", "returns", "environment", "retries", "calls", "fresh", "hidden"],
)
def test_tasks_with_rules_of_their_own_are_not_for_loans(w: LendingWorld, choices: Any, options: Any) -> None:
    assert not w.ask(LOAN, *choices, **options)
    assert w.free_cpus() == 2


# ---- who waits gets it back


def test_work_that_waits_takes_all_loans_back() -> None:
    w = LendingWorld(jobs=(1, 2))
    assert w.ask() and w.ask(b"other", job=2)
    waiting = w.submit("g", job=2)
    assert {command.loan_id for command in w.of(do.RecallLoan)} == {LOAN, b"other"}
    assert not w.is_sent(waiting)
    w.ends(LOAN)
    w.ready()
    assert w.is_sent(waiting)
    w.returns(waiting)


def test_a_group_and_an_actor_that_wait_take_loans_back(w: LendingWorld) -> None:
    assert w.ask()
    w.tell(ev.GroupAsked(b"g", "g", [(("CPU", 20_000),)], "PACK", 1))
    assert w.to_end == [LOAN]
    w.ends(LOAN)
    assert w.groups[b"g"] == "CREATED"


def test_a_loan_that_was_recalled_ends_once(w: LendingWorld) -> None:
    assert w.ask()
    w.submit("g", choice(CPU=2))
    assert w.to_end == [LOAN]
    w.gives_back_loan()
    w.tell(ev.LoanEnded(LOAN))  # the worker's answer to the recall
    w.ready()
    assert w.free_cpus() == 0


def test_who_holds_the_cpu_is_named_by_the_function_of_the_loan(w: LendingWorld) -> None:
    assert w.ask()
    waiting = w.submit("g", choice(CPU=2))
    said = w.scheduler.explain(waiting.task_id, w.now)
    assert said is not None and "f with 1 CPU" in said.sentence


# ---- tasks that are told


def test_a_told_task_runs_and_ends_and_the_loan_goes_on(w: LendingWorld) -> None:
    assert w.ask()
    task = w.told()
    assert w.state(task) is RUNNING and w.free_cpus() == 1
    w.tell(ev.LentTaskEnded(task.task_id))
    assert w.state(task) is FINISHED and w.free_cpus() == 1
    w.gives_back_loan()
    assert w.free_cpus() == 2


def test_a_told_task_that_waits_for_others_gives_them_its_cpu() -> None:
    w = LendingWorld(cpus=1)
    assert w.ask()
    task = w.told(told_by_worker=True)
    w.tell(ev.WorkerBlocked(w.lent[LOAN].worker_id))
    child = w.submit("child")
    w.ready()
    assert w.is_sent(child)
    w.returns(child)
    w.tell(ev.WorkerUnblocked(w.lent[LOAN].worker_id))
    w.tell(ev.TaskReturned(w.lent[LOAN].worker_id, task.task_id))
    assert w.state(task) is FINISHED and w.free_cpus() == 0
    w.gives_back_loan()
    assert w.free_cpus() == 1


def test_a_task_that_ends_while_a_thread_of_it_waits_has_its_cpu_back() -> None:
    w = LendingWorld(cpus=1)
    assert w.ask()
    task = w.told(told_by_worker=True)
    w.tell(ev.WorkerBlocked(w.lent[LOAN].worker_id))
    assert w.free_cpus() == 1
    w.tell(ev.TaskReturned(w.lent[LOAN].worker_id, task.task_id))
    assert w.free_cpus() == 0


def test_a_task_that_waits_keeps_its_loan_though_the_end_of_the_one_before_it_is_told_late() -> None:
    """Its worker tells of it before the driver tells that the one before it has ended."""
    w = LendingWorld(cpus=1)
    assert w.ask()
    worker = w.lent[LOAN]
    before = w.told()
    waits = w.told(told_by_worker=True)
    w.tell(ev.WorkerBlocked(worker.worker_id))
    child = w.submit("child")
    w.ready()
    assert w.is_sent(child) and w.state(waits) is IN_GET
    w.tell(ev.LentTaskEnded(before.task_id))
    assert w.state(before) is FINISHED and w.state(waits) is IN_GET
    assert w.free_cpus() == 0  # the child has it; the task that waits has not got it back
    w.returns(child)
    w.tell(ev.WorkerUnblocked(worker.worker_id))
    w.tell(ev.TaskReturned(worker.worker_id, waits.task_id))
    assert w.state(waits) is FINISHED
    w.gives_back_loan()
    assert w.free_cpus() == 1


def test_the_next_task_may_be_told_before_the_end_of_the_last(w: LendingWorld) -> None:
    """A thread that waits for a result may know it before the thread that tells."""
    assert w.ask()
    first, second = w.told(), w.told()
    w.tell(ev.LentTaskTold(second.task_id))
    w.tell(ev.TaskReturned(w.lent[LOAN].worker_id, second.task_id))
    w.tell(ev.LentTaskEnded(first.task_id))
    assert (w.state(first), w.state(second)) == (FINISHED, FINISHED)


def test_a_task_that_a_dead_worker_had_told_of_runs_again_whoever_told_first(w: LendingWorld) -> None:
    assert w.ask()
    known = w.told()
    w.dies(w.lent[LOAN])
    w.tell(ev.LentTaskTold(known.task_id))  # the worker's last words are read after its death
    told = w.told(told_by_worker=True)
    assert (known.retries_left, told.retries_left) == (2, 2)
    w.tell(ev.LentTaskLost(known.task_id, True))
    w.tell(ev.LentTaskLost(told.task_id, True))
    w.last_word()
    w.ready()
    assert w.is_sent(known) and w.is_sent(told) and (known.retries_left, told.retries_left) == (2, 2)


def test_a_task_that_its_driver_has_lost_runs_again_if_the_worker_ends_the_loan(w: LendingWorld) -> None:
    assert w.ask()
    task = w.told()
    w.tell(ev.LentTaskLost(task.task_id, True))
    w.last_word()
    w.ends(LOAN)
    w.ready()
    assert w.is_sent(task) and task.retries_left == 2


def test_a_told_task_whose_worker_dies_waits_for_the_word_of_its_driver(w: LendingWorld) -> None:
    assert w.ask()
    task = w.told()
    w.dies(w.lent[LOAN])
    assert w.state(task) is RUNNING and w.free_cpus() == 2
    assert [record.task for record in w.scheduler.running()] == [task]
    w.tell(ev.LentTaskLost(task.task_id, True))
    assert task.retries_left == 2
    w.last_word()
    w.ready()
    assert w.is_sent(task)


def test_a_told_task_that_had_answered_before_its_worker_died_does_not_run_again(w: LendingWorld) -> None:
    assert w.ask()
    task = w.told()
    w.dies(w.lent[LOAN])
    w.tell(ev.LentTaskEnded(task.task_id))
    w.last_word()
    assert w.outcomes[task.task_id] == "finished"


def test_a_task_without_retries_fails_with_its_worker(w: LendingWorld) -> None:
    assert w.ask()
    worker = w.lent[LOAN]
    w.dies(worker)
    task = w.told(retries_left=0)  # the driver tells of it only now
    w.tell(ev.LentTaskLost(task.task_id, True))
    w.last_word()
    assert w.outcomes[task.task_id] == "worker crashed"
    assert "was killed by SIGKILL" in w.messages[task.task_id]


def test_the_driver_may_hear_of_a_death_before_the_head(w: LendingWorld) -> None:
    assert w.ask()
    task = w.told()
    w.tell(ev.LentTaskLost(task.task_id, True))
    w.last_word()
    assert w.state(task) is RUNNING and task.retries_left == 3
    w.dies(w.lent[LOAN])
    assert task.retries_left == 2
    w.ready()
    assert w.is_sent(task)


def test_a_task_that_was_not_begun_runs_elsewhere_at_no_cost(w: LendingWorld) -> None:
    assert w.ask()
    task = w.told()
    w.ends(LOAN)  # the worker has not read it
    assert w.free_cpus() == 2
    w.tell(ev.LentTaskLost(task.task_id, False))
    w.last_word()
    w.ready()
    assert w.is_sent(task) and task.retries_left == 3


def test_a_task_that_the_worker_had_told_of_follows_the_common_rule(w: LendingWorld) -> None:
    assert w.ask()
    task = w.told(told_by_worker=True)
    w.dies(w.lent[LOAN])
    assert task.retries_left == 2
    w.tell(ev.LentTaskLost(task.task_id, True))
    w.last_word()
    assert task.retries_left == 2


def test_a_cancelled_task_of_a_loan_is_interrupted_and_killed_if_it_does_not_stop(w: LendingWorld) -> None:
    assert w.ask()
    task = w.told()
    w.tell(ev.CancelAsked(task.task_id))
    assert [command.task_id for command in w.of(do.InterruptTask)] == [task.task_id]
    w.time_passes(5)
    assert w.outcomes[task.task_id] == "cancelled"
    w.dies(w.lent[LOAN])
    w.tell(ev.LentTaskLost(task.task_id, True))
    w.last_word()
    assert w.free_cpus() == 2


def test_a_task_that_is_cancelled_after_its_worker_died_does_not_run_again(w: LendingWorld) -> None:
    assert w.ask()
    task = w.told()
    w.dies(w.lent[LOAN])
    w.tell(ev.CancelAsked(task.task_id))
    w.tell(ev.LentTaskLost(task.task_id, True))
    assert w.outcomes[task.task_id] == "cancelled"


def test_the_end_of_a_job_ends_its_loans_and_forgets_them(w: LendingWorld) -> None:
    assert w.ask()
    task = w.told()
    w.tell(ev.JobEnded(1))
    for worker in w.stopping():
        w.dies(worker)
    assert w.outcomes[task.task_id] == "job ended" and w.free_cpus() == 2
    assert not w.scheduler._lending.open and not w.scheduler._lending.over


def test_a_node_that_leaves_takes_its_loans_along(w: LendingWorld) -> None:
    assert w.ask()
    task = w.told()
    w.tell(ev.NodeRemoved(b"head"))
    w.tell(ev.LentTaskLost(task.task_id, True))
    w.last_word()
    assert w.state(task) is WAITING and not w.scheduler._lending.open


# ---- fairness


def served(cpus: int, steps: int, *, with_loans: bool, length: int, load: int) -> dict[int, int]:
    """Two drivers: one submits its next task when the last one is back, the other many at once. Each task takes one
    step of time. Returns how many tasks of each have run after so many steps.
    """
    w = LendingWorld(cpus=cpus, jobs=(1, 2), idle=cpus)
    loans = count()
    done = {1: 0, 2: 0}
    lone: Task | None = None
    on_loan: bytes | None = None  # what the first driver has, and whether a task of it runs there
    runs_on_loan = False
    for step in range(steps):
        if step == length:
            for _ in range(load):
                w.submit("g", job=2)
        if runs_on_loan:
            done[1] += 1
            runs_on_loan = False
        if on_loan is not None and on_loan in w.to_end:
            w.ends(on_loan)
            w.last_word(on_loan)
            on_loan = None
        for worker in list(w.workers.values()):
            if worker.state == "ready" and worker.queue:
                task = worker.queue[0]
                done[task.job] += 1
                w.returns(task, after_s=1.0)
                lone = None if task is lone else lone
        if lone is None and not runs_on_loan:
            if with_loans and on_loan is None and w.ask(loan := b"l%d" % next(loans)):
                on_loan = loan
            if on_loan is not None and on_loan not in w.to_end:
                runs_on_loan = True
            else:
                lone = w.submit("f", job=1)
        w.ready()
    return done


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(0, 10), st.integers(1, 60))
def test_two_drivers_with_unequal_loads_share_as_without_loans(cpus: int, length: int, load: int) -> None:
    plain = served(cpus, 60, with_loans=False, length=length, load=load)
    lent = served(cpus, 60, with_loans=True, length=length, load=load)
    assert abs(plain[1] - lent[1]) <= 2 and abs(plain[2] - lent[2]) <= 2, f"{plain} without loans, {lent} with them"


def test_a_task_that_was_lost_unbegun_on_a_loan_does_not_overtake_those_that_came_before_it() -> None:
    w = LendingWorld(cpus=1)
    assert w.ask()
    first, second = w.submit("f", max_retries=3), w.submit("f", max_retries=3)
    third = w.told()
    w.ends(LOAN)
    w.tell(ev.LentTaskLost(third.task_id, False))
    w.last_word()
    w.ready()
    w.returns(first, after_s=0.01)
    assert (w.is_sent(second), w.is_sent(third)) == (True, False)
