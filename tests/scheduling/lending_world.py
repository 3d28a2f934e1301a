"""A world whose drivers borrow workers."""

from __future__ import annotations

from typing import Any

from nbaccel.scheduling import commands as do
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.terms import Task
from tests.scheduling.world import World, node

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
        task = self.task("f", job=job, retries_left=retries_left, is_straight=not told_by_worker, loan=loan_id)
        self.tell(ev.TaskSubmitted(task))
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
