"""What a head knows of workers on loan: who is connected, who may tell what in which order, and who dies when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from nbaccel.local_engine import wire
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling import commands as do
from nbaccel.scheduling.moves import FAILED, FINISHED, RUNNING
from tests.local_engine.head_world import TEMPLATES, FakeWorker, HeadWorld

TASK = list(TEMPLATES).index("task")  # one CPU, one retry
VALUE = wire.Value(wire.OK, b"x")
LOAN = b"loan"


class LoanWorld(HeadWorld):
    """A head with an idle worker, whose driver may ask for a loan. Tasks exist as what the two ends tell of them."""

    def __init__(self) -> None:
        self.driver_has: list[bytes] = []  # loans
        self.lent: dict[bytes, FakeWorker] = {}
        self.to_end: list[bytes] = []
        super().__init__()
        self.submit("task")
        (worker,) = self.running()
        self.returns(worker)

    def ask_for(self, loan_id: bytes = LOAN, template: int = TASK) -> bool:
        self.say(asks.told(asks.AskLoan(loan_id, template)))
        self.settle()
        return loan_id in self.lent

    def _driver_heard(self, message: Any) -> None:
        if type(message) is wire.Connected:
            self.driver_has.append(message.actor_id)
        super()._driver_heard(message)

    def _worker_heard(self, worker: FakeWorker, message: Any) -> None:
        if type(message) is wire.Lent:
            self.lent[message.loan_id] = worker
        elif type(message) is wire.EndLoan:
            self.to_end.append(message.loan_id)
        super()._worker_heard(worker, message)

    def worker_ends(self, loan_id: bytes = LOAN) -> None:
        self.lent.pop(loan_id).sock.send(wire.frame([wire.LoanOver(loan_id)]))
        self.settle()

    def driver_ends(self, loan_id: bytes = LOAN, *, is_free: bool = True) -> None:
        self.say(wire.LoanOver(loan_id, is_free))
        self.settle()

    def new_task(self, loan_id: bytes = LOAN) -> wire.StraightCall:
        return wire.StraightCall(self._ids.task_id(), TASK, loan_id, 1.0, args=b"its arguments")

    def tell(self, **news: Any) -> None:
        self.say(wire.StraightNews(**news))
        self.settle()

    def worker_tells(self, worker: FakeWorker, call: wire.StraightCall, *, is_told: bool = False) -> None:
        """The worker has told of a task, and gives the head its result."""
        done = wire.Done(call.task_id, [wire.ReturnValue(VALUE)], times=[1.0, 2.0])
        worker.sock.send(wire.frame([done] if is_told else [wire.CallTold(call), done]))
        self.settle()

    def worker_dies(self, worker: FakeWorker) -> None:
        self.dies(worker)
        self.settle()

    def state(self, call: wire.StraightCall) -> Any:
        record = self.parts.scheduler.task_record(call.task_id)
        return record.state if record is not None else None

    def status(self, call: wire.StraightCall) -> int | None:
        """How the driver was told that the task had ended; None if the head said nothing."""
        return self.values.get(return_id(call.task_id, 0))

    def releases(self, *calls: wire.StraightCall) -> None:
        self.say(wire.Releases([return_id(call.task_id, 0) for call in calls]))
        self.settle()

    def runs(self, call: wire.StraightCall) -> list[wire.RunTask]:
        return [run for worker in self.running() for run in worker.runs if run.task_id == call.task_id]

    @property
    def loans(self) -> Any:
        return self.parts.tasks._lent.entries

    @property
    def free_cpus(self) -> int:
        (node_id,) = self.parts.scheduler.node_ids()
        return self.parts.scheduler.node_available(node_id)["CPU"] // 10_000

    @property
    def objects(self) -> set[bytes]:
        self.parts.flush()
        return set(self.parts.objects.records) - {return_id(task_id, 0) for task_id in self.submitted}


def ended(call: wire.StraightCall, value: wire.Value | None = None) -> wire.StraightCall:
    return wire.StraightCall(call.task_id, call.template, call.actor_id, call.sent_at, [1.0, 2.0], value)


@pytest.fixture
def world() -> Iterator[LoanWorld]:
    made = LoanWorld()
    yield made
    made.end()


# ---- connections


def test_a_driver_and_an_idle_worker_get_an_end_each_once(world: LoanWorld) -> None:
    assert world.ask_for() and world.driver_has == [LOAN]
    assert world.free_cpus == 1
    world.ask_for()
    assert world.driver_has == [LOAN]


def test_a_worker_learns_the_code_of_what_it_is_lent_for(world: LoanWorld) -> None:
    world.say(wire.DefineFunction(b"g", b"", "g"))
    world.say(wire.DefineTemplate(98, msgspec.structs.replace(TEMPLATES["task"], function_key=b"g")))
    assert world.ask_for(template=98)
    assert b"g" in world.parts.workers.by_id[world.lent[LOAN].worker_id].peer.functions


def test_nothing_is_lent_for_tasks_on_devices(world: LoanWorld) -> None:
    assert not world.ask_for(template=list(TEMPLATES).index("train"))
    assert world.free_cpus == 2


def test_a_worker_is_asked_to_end_its_loan_when_work_waits(world: LoanWorld) -> None:
    assert world.ask_for()
    tasks = [world.submit("task") for _ in range(2)]
    assert world.to_end == [LOAN]
    world.worker_ends()
    assert {run.task_id for worker in world.running() for run in worker.runs} == set(tasks)
    world.driver_ends(is_free=False)
    assert not world.loans


def test_nobody_else_may_end_a_loan(world: LoanWorld) -> None:
    assert world.ask_for()
    world.submit("task")
    (other,) = world.running()
    other.sock.send(wire.frame([wire.LoanOver(LOAN)]))
    world.settle()
    assert LOAN in world.loans
    assert other.worker_id not in world.parts.workers.by_id or world.parts.workers.by_id[other.worker_id].ended


@pytest.mark.parametrize("call", range(0, 40, 4))
def test_a_loan_that_could_not_be_made_is_over(world: LoanWorld, call: int) -> None:
    with world.fault(do.Lend, call):
        world.ask_for()
    assert world.fault_fired == 1
    assert world.free_cpus == 2
    world.say(wire.LoanOver(LOAN, is_free=False))
    for loan_id in list(world.lent):
        world.worker_ends(loan_id)
    assert world.ask_for(b"another") and world.free_cpus == 1


@pytest.mark.parametrize("call", range(4))
def test_a_recall_that_failed_is_repeated(world: LoanWorld, call: int) -> None:
    assert world.ask_for()
    with world.fault(do.RecallLoan, call):
        for _ in range(2):
            world.submit("task")
    assert world.fault_fired == 1 and LOAN in world.to_end


# ---- what is told


def test_a_task_that_ended_before_it_was_told_counts_as_finished(world: LoanWorld) -> None:
    assert world.ask_for()
    call = world.new_task()
    world.tell(ended=[ended(call)])
    assert world.state(call) is FINISHED
    entry = world.parts.scheduler.task_record(call.task_id).task.payload
    assert (entry.started_at, entry.finished_at, entry.worker_id) == (1.0, 2.0, world.lent[LOAN].worker_id)
    assert world.objects == set()


def test_an_open_task_runs_and_then_ends_and_its_result_is_no_object(world: LoanWorld) -> None:
    assert world.ask_for()
    call = world.new_task()
    world.tell(opened=[call])
    assert world.state(call) is RUNNING and not world.lent[LOAN].runs
    world.tell(ended=[ended(call)])
    assert world.state(call) is FINISHED and world.objects == set()
    world.driver_ends()
    assert world.free_cpus == 2


def test_who_watches_is_shown_a_loan_and_its_tasks_as_soon_as_they_are_told(world: LoanWorld) -> None:
    world.watch()
    before = world.shown().get("FINISHED", 0)
    assert world.ask_for()
    world.shown()
    assert world.newest is not None and world.newest.nodes[0].available["CPU"] == 1
    task = world.new_task()
    world.tell(opened=[task])
    assert world.shown() == {"RUNNING": 1, "FINISHED": before}
    world.tell(ended=[ended(task)])
    assert world.shown() == {"FINISHED": before + 1}
    world.driver_ends()
    world.worker_ends()
    world.shown()
    assert world.newest.nodes[0].available["CPU"] == 2


def test_the_next_task_may_be_told_together_with_the_end_of_the_last(world: LoanWorld) -> None:
    assert world.ask_for()
    first, second = world.new_task(), world.new_task()
    world.tell(opened=[first])
    world.tell(opened=[second], ended=[ended(first)])
    worker = world.parts.scheduler.worker_record(world.lent[LOAN].worker_id)
    assert worker is not None and [record.task.task_id for record in worker.queue] == [second.task_id]
    world.tell(ended=[ended(second)])
    assert world.state(second) is FINISHED


def test_a_result_that_was_promised_to_others_becomes_an_object(world: LoanWorld) -> None:
    assert world.ask_for()
    call = world.new_task()
    world.tell(opened=[call], promised=[call.task_id])
    waiting = world.submit("task", after=call.task_id)
    world.tell(ended=[ended(call, VALUE)])
    assert waiting in [run.task_id for worker in world.running() for run in worker.runs]
    world.releases(call)


def test_what_both_ends_told_is_admitted_once_whoever_came_first(world: LoanWorld) -> None:
    assert world.ask_for()
    for order in [("open", "worker", "known"), ("worker", "open", "known"), ("known", "worker"), ("worker", "known")]:
        call = world.new_task()
        for step in order:
            if step == "worker":
                world.worker_tells(world.lent[LOAN], call)
            else:
                world.tell(**{"opened" if step == "open" else "known": [call if step == "open" else call.task_id]})
        assert (world.state(call), world.status(call)) == (FINISHED, wire.OK), order
        world.releases(call)
    assert not any(world.parts.tasks.straight_calls._half_told.values())
    assert world.objects == set() and world.free_cpus == 1


def test_news_of_a_loan_that_is_not_the_speakers_end_the_speaker(world: LoanWorld) -> None:
    world.tell(opened=[world.new_task(b"no loan")])
    assert not any(peer.role == "driver" for peer in world.parts.peers.values())


# ---- who dies


@pytest.mark.parametrize("driver_first", [False, True])
@pytest.mark.parametrize("told", [False, True])
def test_the_task_of_a_dead_worker_runs_again_with_its_arguments(
    world: LoanWorld, told: bool, driver_first: bool
) -> None:
    assert world.ask_for()
    call = world.new_task()
    if told:
        world.tell(opened=[call])
    if not driver_first:
        world.worker_dies(world.lent[LOAN])
    world.tell(opened=[] if told else [call], lost=[(call.task_id, True)])
    world.driver_ends(is_free=False)
    if driver_first:
        assert world.runs(call) == []
        world.worker_dies(world.lent[LOAN])
    (run,) = world.runs(call)
    assert run.args == b"its arguments"
    world.returns(next(worker for worker in world.running() if run in worker.runs))
    assert world.status(call) == wire.OK
    world.releases(call)
    assert world.objects == set()


def test_a_task_that_lost_its_last_retry_fails(world: LoanWorld) -> None:
    assert world.ask_for()
    call = world.new_task()
    world.worker_dies(world.lent[LOAN])
    world.tell(opened=[call], lost=[(call.task_id, True)])
    (worker,) = [worker for worker in world.running() if worker.runs[0].task_id == call.task_id]
    world.worker_dies(worker)
    assert (world.state(call), world.status(call)) == (FAILED, wire.FAILED)
    world.releases(call)


def test_the_death_of_the_driver_ends_its_loan_and_its_task(world: LoanWorld) -> None:
    assert world.ask_for()
    call, worker = world.new_task(), world.lent[LOAN]
    world.tell(opened=[call], promised=[call.task_id])
    world._driver.shutdown(2)
    world.settle()
    assert not world.loans and world.free_cpus == 2
    assert world.state(call) is not RUNNING and worker.status is not None


class LoanMachine(RuleBasedStateMachine):
    """Tasks of a driver's loans are told by both ends in every order that their connections allow, until each loan ends
    by the driver, by the worker or by its death. One task at a time is under way on a loan.
    """

    def __init__(self) -> None:
        super().__init__()
        self.world = LoanWorld()
        self.number = 0
        self.loan = b""  # what the driver has not settled
        self.worker: FakeWorker | None = None
        self.is_over = False  # the worker has ended it, or is dead
        self.open: wire.StraightCall | None = None
        self.is_told = False
        self.is_begun = True
        self.is_at_head = False  # the worker has told of the open one
        self.here: list[wire.StraightCall] = []
        self.there: list[wire.StraightCall] = []
        self.promised: set[bytes] = set()

    def teardown(self) -> None:
        world = self.world
        if self.loan:
            self.settle_loan()
        for _ in range(8):
            for worker in world.running():
                world.returns(worker)
            for loan_id in list(world.to_end):
                if loan_id in world.lent:
                    world.worker_ends(loan_id)
        for call in self.there:
            assert world.state(call) in (FINISHED, FAILED) and world.status(call) is not None
        assert [world.state(call) for call in self.here] == [FINISHED] * len(self.here)
        world.releases(*self.there, *(call for call in self.here if call.task_id in self.promised))
        assert world.objects == set()
        assert not any(world.parts.tasks.straight_calls._half_told.values())
        assert world.free_cpus == 2
        assert not world.parts.scheduler._lending.open and not world.parts.scheduler._lending.over
        world.end()

    def settle_loan(self) -> None:
        """The driver ends its loan: as idle, or as one whose connection it has lost."""
        if self.open is not None and not self.is_over:
            self.answer()
        call = self.open
        if call is not None:
            opened = [] if self.is_told else [call]
            self.world.tell(opened=opened, lost=[(call.task_id, self.is_begun)])
            self.there.append(call)
        self.world.driver_ends(self.loan, is_free=not self.is_over)
        if not self.is_over:
            self.world.worker_ends(self.loan)  # it sees that the driver has closed the connection
        self.loan, self.open = b"", None

    def finish_here(self) -> None:
        assert self.open is not None
        value = VALUE if self.open.task_id in self.promised else None
        self.here.append(self.open)
        self.world.tell(ended=[ended(self.open, value)])
        self.open = None

    @precondition(lambda self: not self.loan)
    @rule()
    def borrow(self) -> None:
        self.number += 1
        loan = b"loan %d" % self.number
        if self.world.ask_for(loan):
            self.loan, self.worker, self.is_over, self.is_begun = loan, self.world.lent[loan], False, True

    @precondition(lambda self: self.loan and self.open is None and not self.is_over)
    @rule(tell=st.booleans())
    def begin(self, tell: bool) -> None:
        self.open, self.is_told, self.is_at_head = self.world.new_task(self.loan), tell, False
        if tell:
            self.world.tell(opened=[self.open])

    @precondition(lambda self: self.open is not None)
    @rule()
    def promise(self) -> None:
        assert self.open is not None
        opened = [] if self.is_told else [self.open]
        self.is_told = True
        self.promised.add(self.open.task_id)
        self.world.tell(opened=opened, promised=[self.open.task_id])

    def answer(self) -> None:
        if self.is_at_head:
            self.answer_there(known_first=False)
        else:
            self.finish_here()

    def answer_there(self, known_first: bool) -> None:
        assert self.open is not None and self.worker is not None
        if known_first:
            self.world.tell(known=[self.open.task_id])
        self.world.worker_tells(self.worker, self.open, is_told=self.is_at_head)
        if not known_first:
            self.world.tell(known=[self.open.task_id])
        self.there.append(self.open)
        self.open = None

    @precondition(lambda self: self.open is not None and self.is_begun and not self.is_at_head)
    @rule()
    def answer_here(self) -> None:
        """The answer had left, though the worker may be dead since."""
        self.finish_here()

    @precondition(lambda self: self.open is not None and not self.is_over)
    @rule(known_first=st.booleans())
    def answer_at_the_head(self, known_first: bool) -> None:
        self.answer_there(known_first)

    @precondition(lambda self: self.open is not None and not self.is_over and not self.is_at_head)
    @rule()
    def worker_tells(self) -> None:
        """Its code says something to the head."""
        assert self.open is not None and self.worker is not None
        self.is_at_head = True
        self.worker.sock.send(wire.frame([wire.CallTold(self.open)]))
        self.world.settle()

    @precondition(lambda self: self.loan and not self.is_over)
    @rule()
    def worker_dies(self) -> None:
        assert self.worker is not None
        self.is_over = True
        self.world.worker_dies(self.worker)

    @precondition(lambda self: self.loan and not self.is_over and self.loan in self.world.to_end)
    @rule()
    def worker_ends(self) -> None:
        """It has not read the task that was sent, or it has answered the one that it told of."""
        if self.open is not None and self.is_at_head:
            self.answer_there(known_first=False)
        self.is_over, self.is_begun = True, False
        self.world.worker_ends(self.loan)

    @precondition(lambda self: self.loan)
    @rule()
    def settle(self) -> None:
        self.settle_loan()

    @rule()
    def somebody_works(self) -> None:
        self.world.submit("task")

    @precondition(lambda self: bool(self.world.running()))
    @rule()
    def somebody_returns(self) -> None:
        self.world.returns(self.world.running()[0])


TestLoanMachine = LoanMachine.TestCase
TestLoanMachine.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
