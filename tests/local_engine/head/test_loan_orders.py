"""Tasks on loan, with tasks of their own: in every order in which connections deliver, nobody waits for ever."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from tests.local_engine.loan_model import LoanModel, ModelWorker


def check_the_end(model: LoanModel) -> None:
    """Everything is delivered: all results are there, and everybody has given back what he held."""
    model.finish_all()
    assert model.waiting() == []
    assert model.free_cpus == 2
    assert model.refused == []
    alive = {worker.fake.worker_id for worker in model.alive()}
    assert not [entry for entry in model.parts.tasks._lent.entries.values() if entry.worker_id in alive]
    assert not model.borrowing.open
    assert not model.parts.scheduler._lending.open and not model.parts.scheduler._lending.over
    assert not any(model.parts.tasks.straight_calls._half_told.values())
    for task_id in set(model.sent) - model.dropped:
        model.drops(task_id)
    model.finish_all()
    assert model.held() == set()


@pytest.fixture
def model() -> Iterator[LoanModel]:
    made = LoanModel()
    yield made
    check_the_end(made)
    made.end()


def until(model: LoanModel, condition: Callable[[], Any], *steps: Callable[[], Any]) -> None:
    """Deliver nothing but what these steps deliver, until the condition is true."""
    for _ in range(100):
        if condition():
            return
        for step in steps:
            step()
    raise AssertionError("it never came to that")


def borrowed(model: LoanModel) -> ModelWorker:
    """The worker that the driver has on loan now."""
    model.borrow()

    def hear() -> None:
        if model.said:
            model.speaks()
        if model.heard:
            model.hears()
        for worker in model.alive():
            if worker.may_take:
                worker.takes()

    until(model, lambda: model.borrowing.open and any(worker.line for worker in model.alive()), hear)
    (worker,) = (worker for worker in model.alive() if worker.line)
    return worker


def say_all(side: Any) -> None:
    while side.said:
        side.speaks()


def test_a_task_may_be_told_by_its_worker_before_its_driver_tells_of_the_end_of_the_last(model: LoanModel) -> None:
    worker = borrowed(model)
    model.sends()
    worker.takes()
    model.looks(0.015)  # it lasts: the head is told
    say_all(model)
    worker.ends()
    (way,) = model.lines_with_news()
    model.reads(way)
    model.sends()  # and the end of the first is not told yet
    worker.takes()
    model.children.append(worker.asks())
    say_all(worker)
    say_all(model)
    assert model.free_cpus == 1  # that of the task that waits is with the child


def test_who_waits_has_lent_its_cpu_though_the_task_before_it_ends_late(model: LoanModel) -> None:
    """One CPU is taken by other work, so the child can only have the CPU of the task that waits for it."""
    worker = borrowed(model)
    model.said.append(model.plain_task())
    say_all(model)
    model.sends()
    worker.takes()
    model.looks(0.015)
    say_all(model)
    worker.ends()
    (way,) = model.lines_with_news()
    model.reads(way)
    model.sends()
    worker.takes()
    model.children.append(worker.asks())
    say_all(worker)
    say_all(model)
    assert model.free_cpus == 0
    child = model.children[0]
    assert any(getattr(item, "task_id", b"") == child for worker in model.alive() for item in worker.heard)


def test_the_end_of_a_ref_may_reach_the_head_before_the_worker_tells_of_the_task(model: LoanModel) -> None:
    worker = borrowed(model)
    model.sends()
    worker.takes()
    worker.ends(is_large=True)
    (way,) = model.lines_with_news()
    model.reads(way)
    model.goes_on()
    model.drops(model.sent[-1])
    say_all(model)
    say_all(worker)
    model.finish_all()
    assert model.held() <= set(model.sent[:-1])


class LoanOrders(RuleBasedStateMachine):
    """Each rule is one step of one thread, or what one connection delivers."""

    def __init__(self) -> None:
        super().__init__()
        self.model = LoanModel()
        borrowed(self.model)

    def teardown(self) -> None:
        check_the_end(self.model)
        self.model.end()

    def crew(self, fits: Callable[[ModelWorker], Any]) -> list[ModelWorker]:
        return [worker for worker in self.model.alive() if fits(worker)]

    @precondition(lambda self: not self.model.borrowing.open)
    @rule()
    def borrow(self) -> None:
        self.model.borrow()

    @precondition(lambda self: len(self.model.waiting()) < 5)
    @rule()
    def send(self) -> None:
        self.model.sends()

    @precondition(lambda self: self.model.half_taken)
    @rule()
    def driver_goes_on(self) -> None:
        self.model.goes_on()

    @rule(after_s=st.sampled_from([0.0, 0.015, 0.015, 0.03]))
    def look(self, after_s: float) -> None:
        self.model.looks(after_s)

    @rule()
    def ask(self) -> None:
        self.model.asks()

    @precondition(lambda self: self.model.said)
    @rule(all=st.booleans())
    def head_hears_driver(self, all: bool) -> None:
        self.model.speaks()
        if all:
            say_all(self.model)

    @precondition(lambda self: self.model.heard)
    @rule()
    def driver_hears_head(self) -> None:
        self.model.hears()

    @precondition(lambda self: self.model.lines_with_news())
    @rule(peeks=st.booleans())
    def driver_reads_line(self, peeks: bool) -> None:
        way = self.model.lines_with_news()[0]
        if peeks:
            self.model.peeks(way)
        else:
            self.model.reads(way)

    @precondition(lambda self: self.crew(lambda worker: worker.may_take))
    @rule(data=st.data())
    def worker_takes(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(self.crew(lambda worker: worker.may_take))).takes()

    @precondition(lambda self: self.crew(lambda worker: worker.may_go_on))
    @rule(data=st.data(), is_large=st.integers(0, 3))
    def worker_ends(self, data: st.DataObject, is_large: int) -> None:
        data.draw(st.sampled_from(self.crew(lambda worker: worker.may_go_on))).ends(is_large=not is_large)

    def may_ask(self) -> list[ModelWorker]:
        return self.crew(lambda worker: worker.may_go_on and worker.running.task_id in self.model.sent)

    @precondition(lambda self: self.may_ask())
    @rule(data=st.data(), is_heard=st.booleans())
    def worker_asks(self, data: st.DataObject, is_heard: bool) -> None:
        """Its task waits for one of its own."""
        worker = data.draw(st.sampled_from(self.may_ask()))
        self.model.children.append(worker.asks())
        if is_heard:
            say_all(worker)

    @precondition(lambda self: self.crew(lambda worker: worker.said))
    @rule(data=st.data(), all=st.booleans())
    def head_hears_worker(self, data: st.DataObject, all: bool) -> None:
        worker = data.draw(st.sampled_from(self.crew(lambda worker: worker.said)))
        worker.speaks()
        if all and worker.is_alive:
            say_all(worker)

    def refs(self) -> list[bytes]:
        return [task_id for task_id in self.model.sent if task_id not in self.model.dropped]

    @precondition(lambda self: self.refs())
    @rule(data=st.data())
    def ref_ends(self, data: st.DataObject) -> None:
        self.model.drops(data.draw(st.sampled_from(self.refs())))

    @rule(data=st.data(), which=st.integers(0, 7))
    def trouble(self, data: st.DataObject, which: int) -> None:
        """Now and then a worker on loan dies, or a task is cancelled."""
        lent = self.crew(lambda worker: worker.line)
        mine = [task_id for task_id in self.model.waiting() if task_id in self.model.sent]
        if lent and which == 0:
            data.draw(st.sampled_from(lent)).dies()
        elif mine and which == 1:
            self.model.cancels(data.draw(st.sampled_from(mine)))

    # ---- some steps in their usual order

    @precondition(lambda self: self.crew(lambda worker: worker.line and not worker.running and not worker.heard))
    @rule(lasts=st.booleans())
    def task_on_loan_begins(self, lasts: bool) -> None:
        self.model.sends()
        (worker,) = self.crew(lambda worker: worker.line)
        if worker.may_take:
            worker.takes()
        if lasts:
            self.model.looks(0.015)
            say_all(self.model)

    @precondition(lambda self: self.crew(lambda worker: worker.line and worker.may_go_on))
    @rule(is_large=st.booleans())
    def task_on_loan_ends(self, is_large: bool) -> None:
        (worker,) = self.crew(lambda worker: worker.line)
        worker.ends(is_large=is_large)
        for way in self.model.lines_with_news():
            self.model.reads(way)


TestLoanOrders = LoanOrders.TestCase
TestLoanOrders.settings = settings(report_multiple_bugs=False, max_examples=300, stateful_step_count=30, deadline=None)
