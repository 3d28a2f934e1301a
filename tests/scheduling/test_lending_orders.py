"""Loans of two jobs, told in every order that connections allow: whoever waits gets the workers back."""

from __future__ import annotations

from itertools import count

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from nbaccel.scheduling import events as ev
from nbaccel.scheduling.terms import Task
from tests.scheduling.lending_world import LendingWorld
from tests.scheduling.world import FakeWorker, choice


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
        self.untold: list[tuple[bytes, Task]] = []  # answered to their drivers, who have not told it yet

    def lent(self, loan_id: bytes) -> FakeWorker | None:
        return self.w.lent.get(loan_id)

    def teardown(self) -> None:
        for loan_id in list(self.jobs):
            self.settle(loan_id, begun=True)
        assert not self.untold
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
        self.tell_ends(loan_id)
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
        if by_worker and self.lent(loan_id) is None:
            return
        if task is not None and task.task_id not in self.w.outcomes:
            if task.task_id in self.known:
                return
            self.untold.append((loan_id, task))
            self.plain.append(task)
        task = self.running[loan_id] = self.w.told(loan_id, self.jobs[loan_id], retries, by_worker)
        self.known.update([task.task_id] * by_worker)

    def tell_ends(self, loan_id: bytes) -> None:
        for of, task in self.untold[:]:
            if of == loan_id:
                self.untold.remove((of, task))
                self.w.tell(ev.LentTaskEnded(task.task_id))

    @precondition(lambda self: bool(self.untold))
    @rule()
    def the_driver_tells(self) -> None:
        self.tell_ends(self.untold[0][0])

    @precondition(lambda self: bool(self.running))
    @rule(data=st.data())
    def end_task(self, data: st.DataObject) -> None:
        """Its driver has the result, or the head."""
        loan_id = data.draw(st.sampled_from(sorted(self.running)))
        task, worker = self.running[loan_id], self.lent(loan_id)
        if task.task_id in self.w.outcomes or loan_id not in self.jobs:
            return
        if task.task_id not in self.known:
            self.tell_ends(loan_id)
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
            self.tell_ends(loan_id)
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
