"""Direct calls that nobody looks at: they are kept as they came, and no decision or answer can tell."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from nbaccel.scheduling import commands as do
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.moves import FAILED, FINISHED, RUNNING, SUBMITTED
from nbaccel.scheduling.tasks import KEEP_ENDED
from nbaccel.scheduling.terms import Task, TaskKind, Terms
from tests.scheduling.world import World, node


class Caller:
    """One actor, and a driver that tells of its calls to it. Only `look` looks."""

    def __init__(self, max_concurrency: int = 1) -> None:
        self.world = world = World(node("head", CPU=2))
        creation = world.actor("Counter", max_concurrency=max_concurrency)
        world.ready()
        world.returns(creation)
        (self.worker,) = [worker for worker in world.workers.values() if worker.actor]
        self.terms: Terms = world.task("add", kind=TaskKind.ACTOR_CALL).terms
        self.made: list[bytes] = []
        self.number = 0
        self.before = world.scheduler.counts()

    def send(self, event: ev.Event) -> list[do.Command]:
        commands = list(self.world.scheduler.handle(event, self.world.now))
        for command in commands:
            getattr(self.world, "_" + type(command).__name__)(command)
        return commands

    def make(self, notified: Any) -> Task:
        self.made.append(notified)
        task = Task(self.terms, notified, actor_id=b"a", caller=b"d", is_direct=True)
        self.world.tasks[notified] = task
        return task

    def opens(self, count: int) -> list[bytes]:
        ids = [b"c%d" % (self.number + index) for index in range(count)]
        self.number += count
        self.send(ev.CallsOpened(self.terms, ids, ids, self.make))
        return ids

    def end(self, ids: list[bytes]) -> list[do.Command]:
        """As a head does: a call that has a record returns, others are told as ended."""
        seen = [id for id in ids if self.world.scheduler.lazy_calls.record(id) is not None]
        commands: list[do.Command] = []
        for id in seen:
            commands += self.send(ev.CallReturned(self.worker.worker_id, id))
        unrecorded = [id for id in ids if id not in seen]
        if unrecorded:
            commands += self.send(ev.CallsEnded(self.terms, unrecorded, unrecorded, self.make))
        return commands

    def state(self, id: bytes) -> Any:
        record = self.world.scheduler.task_record(id)
        return record.state if record is not None else None


def test_no_task_is_made_of_a_call_until_somebody_looks() -> None:
    caller = Caller()
    ids = caller.opens(3)
    caller.end(ids[:1])
    assert caller.made == []
    assert [caller.state(id) for id in ids] == [FINISHED, RUNNING, SUBMITTED]
    assert sorted(caller.made) == ids
    caller.end(ids[1:])
    assert [caller.state(id) for id in ids] == [FINISHED] * 3
    assert sorted(caller.made) == ids


def test_all_calls_are_counted_and_the_last_thousand_can_be_asked_for() -> None:
    caller = Caller()
    ids = [id for _ in range(30) for id in caller.opens(100)]
    caller.end(ids)
    assert caller.world.scheduler.counts()["FINISHED"] - caller.before["FINISHED"] == 3_000
    (count,) = [count for count, _ in caller.world.scheduler.tasks_by_function() if count.kind is TaskKind.ACTOR_CALL]
    assert (count.came, count.endings, count.unfinished) == (3_000, [3_000, 0, 0], 0)
    assert len(caller.made) == KEEP_ENDED
    assert [record.task.task_id for record in caller.world.scheduler.ended()][:KEEP_ENDED] == ids[
        : -KEEP_ENDED - 1 : -1
    ]


def test_an_actor_that_is_to_end_waits_for_calls_that_nobody_has_looked_at() -> None:
    caller = Caller()
    (first,) = caller.opens(1)
    caller.send(ev.ActorKillRequested(b"a", graceful=True))
    later = caller.opens(2)
    assert not any(type(command) is do.StopWorker for command in caller.end([first]))
    commands = caller.end(later)
    assert any(type(command) is do.StopWorker for command in commands)


def test_the_end_of_a_call_that_was_looked_at_looks_at_no_other() -> None:
    caller = Caller()
    (looked_at,) = caller.opens(1)
    assert caller.state(looked_at) is RUNNING
    later = caller.opens(2)
    caller.end([looked_at])
    assert caller.made == [looked_at]
    caller.end(later)
    assert caller.made == [looked_at]


class LazyCallsMachine(RuleBasedStateMachine):
    """Calls are told, looked at and ended in any order, until their actor dies."""

    def __init__(self) -> None:
        super().__init__()
        self.caller = Caller()
        self.open: list[bytes] = []
        self.over: list[bytes] = []

    @rule(count=st.integers(1, 5))
    def opened(self, count: int) -> None:
        self.open += self.caller.opens(count)

    @precondition(lambda self: bool(self.open))
    @rule(data=st.data())
    def ended(self, data: st.DataObject) -> None:
        ids = data.draw(st.lists(st.sampled_from(self.open), unique=True, min_size=1))
        self.caller.end(ids)
        self.over += ids
        self.open = [id for id in self.open if id not in ids]

    @rule()
    def ended_before_it_was_told(self) -> None:
        id = b"c%d" % self.caller.number
        self.caller.number += 1
        self.caller.end([id])
        self.over.append(id)

    @rule()
    def something_else_happens(self) -> None:
        self.caller.send(ev.TimePassed())

    @rule()
    def look(self) -> None:
        scheduler = self.caller.world.scheduler
        counts = scheduler.counts()
        assert counts["FINISHED"] - self.caller.before["FINISHED"] == len(self.over)
        assert counts[RUNNING.name] + counts[SUBMITTED.name] == len(self.open) == len(list(scheduler.running()))
        assert all(self.caller.state(id) is FINISHED for id in self.over)
        scheduler.check()

    @invariant()
    def nothing_is_made_twice(self) -> None:
        assert len(self.caller.made) == len(set(self.caller.made))

    def teardown(self) -> None:
        self.caller.send(ev.WorkerDied(self.caller.worker.worker_id, "was killed"))
        assert all(self.caller.state(id) is FAILED for id in self.open)
        counts = self.caller.world.scheduler.counts()
        assert counts["FAILED"] == len(self.open)
        assert counts[RUNNING.name] + counts[SUBMITTED.name] == 0


TestLazyCallsMachine = LazyCallsMachine.TestCase
TestLazyCallsMachine.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
