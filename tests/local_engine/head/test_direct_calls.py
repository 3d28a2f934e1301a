"""What a head knows of direct calls: who is connected, who may report what in which order, and who dies when."""

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
from nbaccel.scheduling.moves import FAILED, FINISHED, RUNNING
from nbaccel.scheduling.tasks import KEEP_ENDED, KEEP_FAILED
from nbaccel.scheduling.terms import TaskKind
from tests.local_engine.head_world import TEMPLATES, FakeWorker, HeadWorld

CREATION = 99
CALL = list(TEMPLATES).index("call")
VALUE = wire.Value(wire.OK, b"x")


class DirectWorld(HeadWorld):
    """A head whose driver is connected with an actor. The calls exist as what the two ends tell of them."""

    def __init__(self, max_restarts: int = 0) -> None:
        self.connected: list[str] = []  # who was given an end
        self.taken: list[bytes] = []  # what the driver was sent: the head answers for these calls
        super().__init__()
        plain = TEMPLATES["actor"]
        actor = msgspec.structs.replace(plain.actor, max_restarts=max_restarts)
        self.send(wire.DefineTemplate(CREATION, msgspec.structs.replace(plain, actor=actor)))
        self.actor, self.worker = self.new_actor()
        self.returns(self.worker)
        self.wish(self.actor)

    def new_actor(self) -> tuple[bytes, FakeWorker]:
        """An actor whose constructor runs, and its worker."""
        actor_id = self._ids.actor_id()
        self.actors.append(actor_id)
        self.send(wire.Submit(self._ids.task_id(), CREATION, actor_id=actor_id))
        self.settle()
        (worker,) = self.running()
        return actor_id, worker

    def wish(self, actor_id: bytes) -> None:
        self.send(asks.notified(asks.ConnectActor(actor_id)))
        self.settle()

    def actor_dies(self) -> None:
        self.dies(self.worker)
        self.settle()

    def _driver_heard(self, message: Any) -> None:
        if type(message) is wire.Connected:
            self.connected.append("driver")
        if type(message) is wire.CallsTaken:
            self.taken += message.task_ids
        super()._driver_heard(message)

    def _worker_heard(self, worker: FakeWorker, message: Any) -> None:
        if type(message) is wire.Connected:
            self.connected.append("worker")
        super()._worker_heard(worker, message)

    def new_call(self) -> wire.DirectCall:
        return wire.DirectCall(self._ids.task_id(), CALL, self.actor, 1.0)

    def reports(self, **news: Any) -> None:
        self.send(wire.CallReports(**news))
        self.settle()

    def actor_reports(self, call: wire.DirectCall) -> None:
        """The actor reports a call, and gives the head its result."""
        done = wire.Done(call.task_id, [wire.ReturnValue(VALUE)], times=[1.0, 2.0])
        self.worker.sock.send(wire.frame([wire.CallReports([call]), done]))
        self.settle()

    def state(self, call: wire.DirectCall) -> Any:
        record = self.wiring.scheduler.task_record(call.task_id)
        return record.state if record is not None else None

    def status(self, call: wire.DirectCall) -> int | None:
        """How the driver was told that the call had ended; None if the head said nothing."""
        return self.values.get(return_id(call.task_id, 0))

    def releases(self, *calls: wire.DirectCall) -> None:
        self.send(wire.DropRef([return_id(call.task_id, 0) for call in calls]))
        self.settle()

    @property
    def objects(self) -> set[bytes]:
        self.wiring.flush()
        return set(self.wiring.objects.records) - {self.actor}


def ended(call: wire.DirectCall, value: wire.Value | None = None) -> wire.DirectCall:
    return wire.DirectCall(call.task_id, call.template, call.actor_id, call.sent_at, [1.0, 2.0], value)


@pytest.fixture
def world() -> Iterator[DirectWorld]:
    made = DirectWorld()
    yield made
    made.end()


# ---- connections


def test_a_driver_and_its_actor_get_an_end_each_once(world: DirectWorld) -> None:
    assert sorted(world.connected) == ["driver", "worker"]
    world.wish(world.actor)
    assert len(world.connected) == 2


def test_an_actor_that_may_restart_is_not_connected() -> None:
    world = DirectWorld(max_restarts=1)
    assert world.connected == []
    world.end()


def test_a_wish_for_an_actor_that_is_not_there_yet_is_met_when_it_is() -> None:
    world = DirectWorld()
    world.connected.clear()
    actor, worker = world.new_actor()
    world.wish(actor)
    assert world.connected == []
    world.returns(worker)
    assert sorted(world.connected) == ["driver", "worker"]
    world.end()


# ---- what is told


def test_a_call_that_ended_before_it_was_told_counts_as_finished(world: DirectWorld) -> None:
    call = world.new_call()
    world.reports(ended=[ended(call)])
    assert world.state(call) is FINISHED
    entry = world.wiring.scheduler.task_record(call.task_id).task.payload
    assert (entry.started_at, entry.finished_at, entry.worker_id) == (1.0, 2.0, world.worker.worker_id)
    assert world.objects == set()


def test_an_open_call_runs_and_then_ends_and_its_result_is_no_object(world: DirectWorld) -> None:
    first, second = world.new_call(), world.new_call()
    world.reports(opened=[first, second])
    assert world.state(first) is RUNNING
    assert world.worker.runs == []
    world.reports(ended=[ended(first)])
    assert (world.state(first), world.state(second)) == (FINISHED, RUNNING)
    assert world.objects == set()


def test_who_watches_is_shown_an_open_call_as_soon_as_it_is_told(world: DirectWorld) -> None:
    world.watch()
    first, second = world.new_call(), world.new_call()
    world.reports(opened=[first])
    assert world.shown() == {"RUNNING": 1}
    world.reports(ended=[ended(first)], opened=[second])
    assert world.shown() == {"RUNNING": 1, "FINISHED": 1}
    world.reports(ended=[ended(second)])
    assert world.shown() == {"FINISHED": 2}


def test_a_result_that_was_promised_to_others_becomes_an_object(world: DirectWorld) -> None:
    call = world.new_call()
    world.reports(opened=[call], promised=[call.task_id])
    waiting = world.submit("task", after=call.task_id)
    assert waiting not in [run.task_id for worker in world.running() for run in worker.runs]
    world.reports(ended=[ended(call, VALUE)])
    assert waiting in [run.task_id for worker in world.running() for run in worker.runs]
    world.releases(call)


@pytest.mark.parametrize("order", [["open", "actor"], ["actor", "open"], ["actor", "taken"]], ids=" ".join)
def test_what_both_ends_report_is_admitted_once_whoever_came_first(world: DirectWorld, order: list[str]) -> None:
    call = world.new_call()
    for step in order:
        if step == "actor":
            world.actor_reports(call)
        else:
            world.reports(opened=[call] * (step == "open"), taken=[call.task_id] * (step == "taken"))
    assert (world.state(call), world.status(call), world.taken) == (FINISHED, wire.OK, [call.task_id])
    world.releases(call)
    assert not any(world.wiring.tasks.direct_calls.partly_reported.values())
    assert world.objects == set()


def test_a_call_that_was_forgotten_is_not_admitted_again_by_its_drivers_report(world: DirectWorld) -> None:
    call = world.new_call()
    world.actor_reports(call)
    others = [world.new_call() for _ in range(KEEP_ENDED + 1)]
    world.reports(ended=[ended(other) for other in others])
    assert world.state(call) is None
    world.reports(opened=[call])
    assert world.state(call) is None
    world.releases(call)


def test_a_promised_result_whose_ref_ended_before_the_actor_reports_the_call_is_taken_all_the_same(
    world: DirectWorld,
) -> None:
    call = world.new_call()
    world.reports(opened=[call], promised=[call.task_id])
    world.releases(call)
    world.actor_reports(call)
    assert world.taken == [call.task_id]
    world.releases(call)  # as every driver that has no ref does then
    assert world.state(call) is FINISHED
    assert world.objects == set()


def test_an_error_that_the_actor_reports_is_the_heads(world: DirectWorld) -> None:
    call = world.new_call()
    raised = wire.ReturnValue(wire.Value(wire.RAISED, b"x"))
    done = wire.Done(call.task_id, [raised], failed=True, times=[1.0, 2.0])
    world.worker.sock.send(wire.frame([wire.CallReports([call]), done]))
    world.settle()
    assert (world.state(call), world.status(call)) == (FAILED, wire.RAISED)
    world.releases(call)
    assert world.objects == set()


def test_the_last_handle_ends_the_actor_only_after_its_open_calls(world: DirectWorld) -> None:
    call = world.new_call()
    world.reports(opened=[call])
    world.send(wire.DropRef([world.actor]))
    world.settle()
    assert world.worker.status is None
    world.reports(ended=[ended(call)])
    assert world.worker.status is not None


def test_reports_of_an_actor_without_a_connection_end_the_driver() -> None:
    world = DirectWorld(max_restarts=1)
    world.reports(opened=[world.new_call()])
    assert not any(peer.role == "driver" for peer in world.wiring.peers.values())
    world.end()


# ---- who dies


def test_the_death_of_the_actor_fails_what_was_told_and_what_is_told_later(world: DirectWorld) -> None:
    notified, late = world.new_call(), world.new_call()
    world.reports(opened=[notified])
    world.actor_dies()
    world.reports(opened=[late])
    for call in (notified, late):
        assert (world.state(call), world.status(call)) == (FAILED, wire.FAILED)
    world.releases(notified, late)
    assert world.objects == set()


def test_an_answer_that_had_left_before_the_actor_died_takes_the_error_back(world: DirectWorld) -> None:
    call = world.new_call()
    world.reports(opened=[call])
    world.actor_dies()
    assert world.status(call) == wire.FAILED
    world.reports(ended=[ended(call)])
    assert world.objects == set()


def test_calls_whose_answers_had_left_before_the_actor_died_count_as_finished_however_many(
    world: DirectWorld,
) -> None:
    before = world.wiring.scheduler.counts()
    calls = [world.new_call() for _ in range(KEEP_ENDED + KEEP_FAILED + 10)]
    answered, lost = calls[:-5], calls[-5:]
    world.reports(opened=calls)
    world.actor_dies()
    assert world.state(calls[0]) is None  # so many have failed that it is forgotten
    world.reports(ended=[ended(call) for call in answered])
    counts = world.wiring.scheduler.counts()
    assert counts["FINISHED"] - before["FINISHED"] == len(answered)
    assert counts["FAILED"] == len(lost)
    (function,) = (f for f, _ in world.wiring.scheduler.tasks_by_function() if f.kind is TaskKind.ACTOR_CALL)
    assert (function.endings, function.unfinished) == ([len(answered), len(lost), 0], 0)
    entry = world.wiring.scheduler.task_record(answered[-1].task_id).task.payload
    assert (world.state(answered[-1]), entry.error_type, entry.finished_at) == (FINISHED, "", 2.0)
    world.wiring.scheduler.check()
    world.releases(*lost)
    assert world.objects == set()


def test_others_get_the_error_of_a_promised_result_whose_actor_died(world: DirectWorld) -> None:
    call = world.new_call()
    world.reports(opened=[call], promised=[call.task_id])
    waiting = world.submit("task", after=call.task_id)
    world.actor_dies()
    assert world.values[return_id(waiting, 0)] == wire.FAILED
    world.releases(call)


def test_the_death_of_the_driver_ends_its_actor_and_forgets_its_calls(world: DirectWorld) -> None:
    call, other = world.new_call(), world.new_call()
    world.reports(opened=[call], promised=[call.task_id])
    world.worker.sock.send(wire.frame([wire.CallReports([other])]))
    world.settle()
    world._driver.shutdown(2)
    world.settle()
    assert world.wiring.tasks.direct_calls.partly_reported == {}
    assert world.state(call) is not RUNNING
    assert world.worker.status is not None


class DirectCallMachine(RuleBasedStateMachine):
    """Calls of one actor are reported by both ends in every order that connections allow, until the actor dies."""

    def __init__(self) -> None:
        super().__init__()
        self.world = DirectWorld()
        self.open: list[wire.DirectCall] = []  # under way
        self.reported: set[bytes] = set()  # as open
        self.unread: list[wire.DirectCall] = []  # the head has taken these, of which the driver has reported nothing
        self.here: list[wire.DirectCall] = []
        self.there: list[wire.DirectCall] = []
        self.promised: set[bytes] = set()
        self.dead = False

    def teardown(self) -> None:
        world = self.world
        world.reports(taken=[call.task_id for call in self.unread])
        if not self.dead:
            world.actor_dies()
        world.reports(opened=[call for call in self.open if call.task_id not in self.reported])
        for call in self.open:
            assert world.status(call) == wire.FAILED
        for call in self.there:
            assert world.status(call) == wire.OK
        assert sorted(world.taken) == sorted(call.task_id for call in self.there)
        promised_here = [call for call in self.here if call.task_id in self.promised]
        world.releases(*self.open, *self.there, *promised_here)
        states = [world.state(call) for call in (*self.here, *self.there)]
        assert states == [FINISHED] * len(states)
        assert world.objects == set()
        assert not any(world.wiring.tasks.direct_calls.partly_reported.values())
        world.end()

    @rule()
    def wait(self) -> None:
        self.world.settle()

    @precondition(lambda self: not self.dead)
    @rule()
    def begin(self) -> None:
        self.open.append(self.world.new_call())

    @precondition(lambda self: bool(self.open))
    @rule(data=st.data(), promise=st.booleans())
    def report_open(self, data: st.DataObject, promise: bool) -> None:
        call = data.draw(st.sampled_from(self.open))
        opened = [call] * (call.task_id not in self.reported)
        promised = [call.task_id] * (promise and not self.dead)
        self.reported.add(call.task_id)
        self.promised.update(promised)
        self.world.reports(opened=opened, promised=promised)

    @precondition(lambda self: bool(self.open) and not self.dead)
    @rule()
    def answer_here(self) -> None:
        call = self.open.pop(0)
        value = VALUE if call.task_id in self.promised else None
        self.here.append(call)
        self.world.reports(ended=[ended(call, value)])

    @precondition(lambda self: bool(self.open) and not self.dead)
    @rule()
    def answer_at_the_head(self) -> None:
        call = self.open.pop(0)
        self.there.append(call)
        self.world.actor_reports(call)
        if call.task_id not in self.reported:
            self.unread.append(call)

    @precondition(lambda self: bool(self.unread))
    @rule(has_read=st.booleans())
    def driver_reports_what_was_taken(self, has_read: bool) -> None:
        call = self.unread.pop()
        self.world.reports(opened=[call] * (not has_read), taken=[call.task_id] * has_read)

    @precondition(lambda self: not self.dead)
    @rule()
    def actor_dies(self) -> None:
        self.dead = True
        self.world.actor_dies()


TestDirectCallMachine = DirectCallMachine.TestCase
TestDirectCallMachine.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
