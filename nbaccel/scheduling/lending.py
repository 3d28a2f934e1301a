"""Workers on loan: a driver has a worker, and the resources of one task, for its next tasks of one kind.

```
  LoanAsked ──► nobody waits, and a worker is idle? ──► Lend ──► the driver's tasks go straight to the worker
  work waits, whoever's ──► RecallLoan ──► the worker ends the loan between two tasks ──► LoanEnded
```
A loan holds what one task of its kind would hold, so at no time more runs than there is room for. Whether such a task
ran, and how it ended, is known to the driver alone until it tells: a task that was told as under way stays with its
worker in our books, or with what we remember of it (`over`), until the driver's word.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec

from nbaccel.scheduling.commands import Command, Lend, RecallLoan
from nbaccel.scheduling.dispatch import Dispatcher
from nbaccel.scheduling.events import LentTaskLost, LentTaskTold, LoanAsked, LoanEnded
from nbaccel.scheduling.ledger import Hold
from nbaccel.scheduling.loans import Loans
from nbaccel.scheduling.moves import RUNNING, STOPPING, WAITING
from nbaccel.scheduling.placement import PlacementBook
from nbaccel.scheduling.tasks import TaskRecord, TaskTable
from nbaccel.scheduling.terms import Task
from nbaccel.scheduling.workers import UNBOUND, WorkerRecord, WorkerTable


class WorkerLoan(msgspec.Struct, eq=False):
    """A worker that is lent, and who has it."""

    loan_id: bytes
    worker: WorkerRecord
    lender: TaskRecord  # stands for the loan where the books name who holds what
    recalled: bool = False
    settled: bool = False  # the driver has told everything


class Lending:
    """All loans of workers to drivers."""

    def __init__(
        self,
        out: list[Command],
        cluster: PlacementBook,
        tasks: TaskTable,
        workers: WorkerTable,
        dispatcher: Dispatcher,
        loans: Loans,
    ) -> None:
        self._out = out
        self._cluster = cluster
        self._tasks = tasks
        self._workers = workers
        self._dispatcher = dispatcher
        self._loans = loans
        self.open: dict[bytes, WorkerLoan] = {}
        self._remembered: dict[bytes, TaskRecord] = {}  # tasks that are with no worker any more
        self.over: dict[bytes, tuple[int, WorkerRecord]] = {}  # job and worker, until the driver's last word

    # --- lending --------------------------------------------------------------------------------------------------

    def someone_waits(self) -> bool:
        """Whether work waits for a place: then nobody keeps a worker that does not run."""
        return bool(self._tasks.counts[WAITING]) or self._cluster.groups_wait

    def asked(self, event: LoanAsked, now: float) -> None:
        """A driver wants a worker for tasks with these terms. No answer is an answer: its tasks go on through us."""
        terms = event.terms
        if event.loan_id in self.open or event.loan_id in self.over or not terms.may_go_on_loan or self.someone_waits():
            return
        record = TaskRecord(Task(terms, event.loan_id), None, self._workers.pool_of(terms.pool), 0, now, state=RUNNING)
        hold = self._cluster.take(self._tasks.shape_of(record.task, 0).asks[0], record, now)
        if hold is None:
            return
        if not self._has_idle(record, hold):
            self._cluster.give_all(hold)
            return
        worker = self._workers.acquire(record, hold, now)
        worker.used = worker.lent = True
        worker.began_at = now
        self.open[event.loan_id] = WorkerLoan(event.loan_id, worker, record)
        self._tasks.order.served(terms.job)
        self._out.append(Lend(event.loan_id, worker.worker_id, terms))

    def _has_idle(self, record: TaskRecord, hold: Hold) -> bool:
        assert record.pool is not None
        return bool(record.pool.idle.get((hold.place.node_id, UNBOUND)))

    def after(self) -> None:
        """An event has been dealt with: if somebody waits now, all workers on loan come back."""
        waits = self.someone_waits()
        for loan in self.open.values():
            if not loan.recalled and (waits or self._is_short(loan)):
                loan.recalled = True
                self._out.append(RecallLoan(loan.worker.worker_id, loan.loan_id))

    def _is_short(self, loan: WorkerLoan) -> bool:
        """A task that waited runs again beside another that was given its CPU."""
        hold = loan.worker.hold
        return hold is not None and hold.place.left("CPU") < 0

    # --- what the driver tells ------------------------------------------------------------------------------------

    def admit(self, record: TaskRecord, now: float) -> None:
        """A task is under way on a worker on loan, or was: its driver says so, or its worker (`is_straight` is False).

        One task at a time is on its way to a worker on loan. So the one before it has been answered, though its driver
        may have to tell that yet.
        """
        loan_id = record.task.loan
        loan = self.open.get(loan_id)
        self._tasks.move(record, WAITING, now)
        self._tasks.move(record, RUNNING, now)
        record.started_at, record.turn = now, record.seq  # its place in a line, should it ever wait in one
        if loan is not None:
            self._take_straight_one(loan.worker)
            if not loan.worker.queue:
                self._begin(record, loan.worker, now)
                return
        _, was = self.over.get(loan_id, (0, loan.worker if loan is not None else None))
        self._remember_task(record, was)
        if not record.task.is_straight:
            self._died_with(record, now)

    def _begin(self, record: TaskRecord, worker: WorkerRecord, now: float) -> None:
        worker.queue.append(record)
        record.worker, record.hold = worker, worker.hold
        if worker.hold is not None:
            worker.hold.owner, worker.hold.since = record, now
        worker.began_at = now

    def told(self, event: LentTaskTold, now: float) -> None:
        """The worker tells of a task of which its driver had told: what becomes of it follows the common rules."""
        record = self._tasks.records.get(event.task_id)
        if record is None or record.over or not record.task.is_straight:
            return
        record.task.is_straight = False
        if event.task_id in self._remembered:
            self._died_with(record, now)

    def _died_with(self, record: TaskRecord, now: float) -> None:
        """Its worker has told of it and is gone: nobody will say how it ended."""
        worker = record.worker
        assert worker is not None
        self._leave(record, now)
        self._loans.crashed(record, worker, worker.why or "ended", now)

    def ended(self, record: TaskRecord, now: float) -> None:
        """The driver has the result of a task that it had told of."""
        self._leave(record, now)
        self._tasks.finish(record, now)

    def lost(self, event: LentTaskLost, now: float) -> None:
        """The driver will not have the result: the connection ended first. The task runs again, by its rules."""
        record = self._tasks.records.get(event.task_id)
        if record is None or record.over or not record.task.is_straight:
            return
        record.task.is_straight = False
        worker = record.worker
        assert worker is not None
        if event.begun and worker.worker_id in self._workers.records and worker.queue[0] is record and worker.lent:
            return  # what became of it follows: the end of the worker, or its answer
        if event.begun:
            self._died_with(record, now)
        else:
            self._leave(record, now)
            self._loans.requeue([record], now)

    def _leave(self, record: TaskRecord, now: float) -> None:
        worker = record.worker
        assert worker is not None
        worker.queue.remove(record)
        self._remembered.pop(record.task.task_id, None)
        if worker.lent:
            self.task_over(worker, now)

    def task_over(self, worker: WorkerRecord, now: float) -> None:
        """A worker on loan has ended a task: it keeps what it holds, for the next one."""
        hold = worker.hold
        loan = self._of(worker)
        if hold is None or loan is None:
            return
        if hold.lent:
            self._cluster.reclaim_cpu(hold)
        worker.blocked = 0
        hold.owner, hold.since = loan.lender, now

    # --- the end of a loan ----------------------------------------------------------------------------------------

    def loan_ended(self, event: LoanEnded, now: float) -> None:
        """The worker, or the driver, has ended it. The driver's word is the last one about its tasks, too."""
        loan = self.open.get(event.loan_id)
        if event.by_driver:
            self.over.pop(event.loan_id, None)
            if loan is not None:
                loan.settled = True
        if loan is not None and event.is_free:
            del self.open[event.loan_id]
            self._set_free(loan, now, by_driver=event.by_driver)
            self._remember(loan)

    def _set_free(self, loan: WorkerLoan, now: float, *, by_driver: bool) -> None:
        worker = loan.worker
        worker.lent = False
        self._take_straight_one(worker)
        if worker.queue and not by_driver and worker.state is not STOPPING:
            self._died_with(worker.queue[0], now)  # its driver had lost it, and its worker runs nothing
        if not worker.queue and worker.state is not STOPPING:
            self._dispatcher.end_loan(worker)
            worker.blocked = 0
            self._workers.rest(worker, now)

    def worker_gone(self, worker: WorkerRecord, why: str) -> None:
        """The process of a worker on loan is gone: what it ran for its driver waits for the driver's word."""
        loan = self._of(worker)
        worker.lent = False
        if loan is not None:
            worker.why = worker.why or why
            del self.open[loan.loan_id]
            self._take_straight_one(worker)
            self._remember(loan)

    def job_ended(self, job: int) -> None:
        for loan in self.open.values():
            loan.settled |= loan.lender.task.terms.job == job
        for loan_id in [loan_id for loan_id, (of, _) in self.over.items() if of == job]:
            del self.over[loan_id]

    def _remember(self, loan: WorkerLoan) -> None:
        if not loan.settled:
            self.over[loan.loan_id] = loan.lender.task.terms.job, loan.worker

    def _take_straight_one(self, worker: WorkerRecord) -> None:
        if worker.queue and worker.queue[0].task.is_straight and not worker.queue[0].over:
            record = worker.queue.popleft()
            record.hold = None
            self._remember_task(record, worker)

    def _remember_task(self, record: TaskRecord, worker: WorkerRecord | None) -> None:
        list(self.remembered())  # forget those that have ended otherwise
        record.worker = _memory(record, worker)
        self._remembered[record.task.task_id] = record

    def remembered(self) -> Iterator[TaskRecord]:
        """The tasks that ran on a worker on loan, as far as we know, until their driver says what became of them."""
        for task_id, record in list(self._remembered.items()):
            if record.over:
                del self._remembered[task_id]
            else:
                yield record

    def _of(self, worker: WorkerRecord) -> WorkerLoan | None:
        return next((loan for loan in self.open.values() if loan.worker is worker), None)


def _memory(record: TaskRecord, worker: WorkerRecord | None) -> WorkerRecord:
    """A worker as a task remembers it, which is not there for anybody else."""
    if worker is None:
        return WorkerRecord(b"", b"", None, "", STOPPING, queue=deque([record]))
    return WorkerRecord(
        worker.worker_id, worker.node_id, None, "", STOPPING, pid=worker.pid, why=worker.why, queue=deque([record])
    )
