"""Workers on loan: what is lent, that whoever waits gets it back, and what becomes of a task in each death."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from nbaccel.scheduling import commands as do
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.moves import FINISHED, RUNNING, WAITING
from nbaccel.scheduling.terms import Placement, Task
from tests.scheduling.world import FakeWorker, World, choice, node

LOAN = b"loan"


class LendingWorld(World):
    """A world whose drivers ask for loans, and tell of the tasks that they have sent to workers on loan."""

    def __init__(self, cpus: int = 2, jobs: tuple[int, ...] = (1,), idle: int = 1, **options: Any) -> None:
        super().__init__(node(CPU=cpus), **options)
        for job in jobs:
            first = [self.submit("f", job=job, max_retries=3) for _ in range(idle)]
            self.ready()
            for task in first:
                self.returns(task)

    def ask(self, loan_id: bytes = LOAN, *choices: Any, job: int = 1, **options: Any) -> bool:
        terms = self.task("f", *choices, job=job, **{"max_retries": 3, **options}).terms
        self.tell(ev.LoanAsked(loan_id, terms))
        return bool(self.of(do.Lend))

    def told(self, loan_id: bytes = LOAN, job: int = 1, retries_left: int = 3, told_by_worker: bool = False) -> Task:
        """A task is told as under way on this loan."""
        task = self.task("f", job=job, retries_left=retries_left, is_straight=True, loan=loan_id)
        self.tell(ev.TaskSubmitted(task))
        if told_by_worker:
            task.is_straight = False
        return task

    def ends(self, loan_id: bytes) -> None:
        """The worker ends the loan."""
        worker = self.lent.pop(loan_id)
        self.to_end = [other for other in self.to_end if other != loan_id]
        assert worker.worker_id in self.workers
        self.tell(ev.LoanEnded(loan_id))

    def gives_back_loan(self, loan_id: bytes = LOAN) -> None:
        self.lent.pop(loan_id, None)
        self.to_end = [other for other in self.to_end if other != loan_id]
        self.tell(ev.LoanEnded(loan_id, by_driver=True))

    def last_word(self, loan_id: bytes = LOAN) -> None:
        """The driver has seen the end of the connection, and has told everything."""
        self.tell(ev.LoanEnded(loan_id, by_driver=True, is_free=False))

    def free_cpus(self) -> int:
        return self.scheduler.node_available(b"head")["CPU"] // 10_000

    def state(self, task: Task) -> Any:
        record = self.scheduler.task_record(task.task_id)
        return record.state if record is not None else None


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


# ---- every order of events


class LendingMachine(RuleBasedStateMachine):
    """Loans of two jobs, tasks on them and others, cancels and deaths, told in every order that connections allow."""

    def __init__(self) -> None:
        super().__init__()
        self.w = LendingWorld(cpus=3, jobs=(1, 2), idle=2)
        self.numbers = count()
        self.jobs: dict[bytes, int] = {}  # loans that the driver has not settled
        self.running: dict[bytes, Task] = {}  # of each loan, told to the head
        self.known: set[bytes] = set()  # of these, what the worker has told of
        self.plain: list[Task] = []

    def lent(self, loan_id: bytes) -> FakeWorker | None:
        return self.w.lent.get(loan_id)

    def teardown(self) -> None:
        for loan_id in list(self.jobs):
            self.settle(loan_id, begun=True)
        for worker in list(self.w.workers.values()):
            if worker in self.w.lent.values():
                self.w.dies(worker)
        for _ in range(10):
            self.w.ready()
            for worker in self.w.stopping():
                self.w.dies(worker)
            for worker in list(self.w.workers.values()):
                while worker.queue and worker.state == "ready":
                    self.w.returns(worker.queue[0])
                if worker.recalled:
                    self.w.gives_back(worker)
            self.w.time_passes(10)
        assert set(self.w.outcomes) >= {task.task_id for task in [*self.plain, *self.running.values()]}
        assert self.w.free_cpus() == 3
        assert not self.w.scheduler._lending.open and not self.w.scheduler._lending.over

    def settle(self, loan_id: bytes, begun: bool) -> None:
        """The driver sees the end of the connection."""
        task = self.running.get(loan_id)
        if task is not None and task.task_id not in self.w.outcomes:
            self.w.tell(ev.LentTaskLost(task.task_id, begun))
            self.plain.append(task)
        self.w.last_word(loan_id)
        del self.jobs[loan_id]

    @rule(job=st.sampled_from([1, 2]), cpus=st.integers(0, 3))
    def submit(self, job: int, cpus: int) -> None:
        self.plain.append(self.w.submit("g", choice(CPU=cpus), job=job, max_retries=1, retries_left=1))
        self.w.ready()

    @rule(data=st.data())
    def something_returns(self, data: st.DataObject) -> None:
        busy = [worker for worker in self.w.workers.values() if worker.queue and worker.state == "ready"]
        if busy:
            self.w.returns(data.draw(st.sampled_from(busy)).queue[0], after_s=0.01)
        self.w.ready()

    @rule(job=st.sampled_from([1, 2]), cpus=st.integers(0, 2))
    def ask(self, job: int, cpus: int) -> None:
        loan_id = b"loan%d" % next(self.numbers)
        if self.w.ask(loan_id, choice(CPU=cpus), job=job):
            self.jobs[loan_id] = job

    @precondition(lambda self: bool(self.jobs))
    @rule(data=st.data(), by_worker=st.booleans(), retries=st.integers(0, 1))
    def tell(self, data: st.DataObject, by_worker: bool, retries: int) -> None:
        """A task is on a loan, or was when that ended."""
        loan_id = data.draw(st.sampled_from(sorted(self.jobs)))
        task = self.running.get(loan_id)
        if (task is not None and task.task_id not in self.w.outcomes) or (by_worker and self.lent(loan_id) is None):
            return
        task = self.running[loan_id] = self.w.told(loan_id, self.jobs[loan_id], retries, by_worker)
        self.known.update([task.task_id] * by_worker)

    @precondition(lambda self: bool(self.running))
    @rule(data=st.data())
    def end_task(self, data: st.DataObject) -> None:
        """Its driver has the result, or the head."""
        loan_id = data.draw(st.sampled_from(sorted(self.running)))
        task, worker = self.running[loan_id], self.lent(loan_id)
        if task.task_id in self.w.outcomes or loan_id not in self.jobs:
            return
        if task.task_id not in self.known:
            self.w.tell(ev.LentTaskEnded(task.task_id))
        elif worker is not None:
            self.w.tell(ev.TaskReturned(worker.worker_id, task.task_id))

    @precondition(lambda self: bool(self.running))
    @rule(data=st.data(), force=st.booleans())
    def cancel(self, data: st.DataObject, force: bool) -> None:
        self.w.tell(ev.CancelAsked(data.draw(st.sampled_from(sorted(self.running.items())))[1].task_id, force))

    @precondition(lambda self: bool(self.w.to_end))
    @rule(data=st.data(), begun=st.booleans())
    def worker_ends_loan(self, data: st.DataObject, begun: bool) -> None:
        """Between two tasks: what the worker has told of is over."""
        loan_id = data.draw(st.sampled_from(self.w.to_end))
        task, worker = self.running.get(loan_id), self.lent(loan_id)
        if worker is None or worker.state != "ready":
            return
        if task is not None and task.task_id in self.known and task.task_id not in self.w.outcomes:
            self.w.tell(ev.TaskReturned(worker.worker_id, task.task_id))
        self.w.ends(loan_id)

    @precondition(lambda self: bool(self.jobs))
    @rule(data=st.data(), begun=st.booleans())
    def driver_sees_the_end(self, data: st.DataObject, begun: bool) -> None:
        loan_id = data.draw(st.sampled_from(sorted(self.jobs)))
        if self.lent(loan_id) is None:
            self.settle(loan_id, begun)

    @precondition(lambda self: bool(self.jobs))
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        loan_id = data.draw(st.sampled_from(sorted(self.jobs)))
        task = self.running.get(loan_id)
        if (task is None or task.task_id in self.w.outcomes) and self.lent(loan_id) is not None:
            self.w.gives_back_loan(loan_id)
            del self.jobs[loan_id]

    @precondition(lambda self: bool(self.w.lent))
    @rule(data=st.data(), blocks=st.booleans())
    def block(self, data: st.DataObject, blocks: bool) -> None:
        loan_id = data.draw(st.sampled_from(sorted(self.w.lent)))
        task, worker = self.running.get(loan_id), self.w.lent[loan_id]
        if task is not None and task.task_id in self.known and task.task_id not in self.w.outcomes:
            worker.blocked = blocks
            self.w.tell(ev.WorkerBlocked(worker.worker_id) if blocks else ev.WorkerUnblocked(worker.worker_id))
            self.w.ready()

    @precondition(lambda self: bool(self.w.workers))
    @rule(data=st.data())
    def die(self, data: st.DataObject) -> None:
        self.w.dies(self.w.workers[data.draw(st.sampled_from(sorted(self.w.workers)))])
        self.w.ready()

    @rule()
    def time_passes(self) -> None:
        self.w.time_passes(1)


TestLendingMachine = LendingMachine.TestCase
TestLendingMachine.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
