"""What a head knows of straight calls: who is connected, who may tell what in which order, and who dies when."""

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


class StraightWorld(HeadWorld):
    """A head whose driver is connected with an actor. The calls exist as what the two ends tell of them."""

    def __init__(self, max_restarts: int = 0) -> None:
        self.connected: list[str] = []  # who was given an end
        super().__init__()
        plain = TEMPLATES["actor"]
        actor = msgspec.structs.replace(plain.actor, max_restarts=max_restarts)
        self.say(wire.DefineTemplate(CREATION, msgspec.structs.replace(plain, actor=actor)))
        self.actor, self.worker = self.new_actor()
        self.returns(self.worker)
        self.wish(self.actor)

    def new_actor(self) -> tuple[bytes, FakeWorker]:
        """An actor whose constructor runs, and its worker."""
        actor_id = self._ids.actor_id()
        self.actors.append(actor_id)
        self.say(wire.Submit(self._ids.task_id(), CREATION, actor_id=actor_id))
        self.settle()
        (worker,) = self.running()
        return actor_id, worker

    def wish(self, actor_id: bytes) -> None:
        self.say(asks.told(asks.ConnectActor(actor_id)))
        self.settle()

    def actor_dies(self) -> None:
        self.dies(self.worker)
        self.settle()

    def _driver_heard(self, message: Any) -> None:
        if type(message) is wire.Connected:
            self.connected.append("driver")
        super()._driver_heard(message)

    def _worker_heard(self, worker: FakeWorker, message: Any) -> None:
        if type(message) is wire.Connected:
            self.connected.append("worker")
        super()._worker_heard(worker, message)

    def new_call(self) -> wire.StraightCall:
        return wire.StraightCall(self._ids.task_id(), CALL, self.actor, 1.0)

    def tell(self, **news: Any) -> None:
        self.say(wire.StraightNews(**news))
        self.settle()

    def actor_tells(self, call: wire.StraightCall) -> None:
        """The actor has told of a call, and gives the head its result."""
        done = wire.Done(call.task_id, [wire.ReturnValue(VALUE)], times=[1.0, 2.0])
        self.worker.sock.send(wire.frame([wire.CallTold(call), done]))
        self.settle()

    def state(self, call: wire.StraightCall) -> Any:
        record = self.parts.scheduler.task_record(call.task_id)
        return record.state if record is not None else None

    def status(self, call: wire.StraightCall) -> int | None:
        """How the driver was told that the call had ended; None if the head said nothing."""
        return self.values.get(return_id(call.task_id, 0))

    def releases(self, *calls: wire.StraightCall) -> None:
        self.say(wire.Releases([return_id(call.task_id, 0) for call in calls]))
        self.settle()

    @property
    def objects(self) -> set[bytes]:
        self.parts.flush()
        return set(self.parts.objects.records) - {self.actor}


def ended(call: wire.StraightCall, value: wire.Value | None = None) -> wire.StraightCall:
    return wire.StraightCall(call.task_id, call.template, call.actor_id, call.sent_at, [1.0, 2.0], value)


@pytest.fixture
def world() -> Iterator[StraightWorld]:
    made = StraightWorld()
    yield made
    made.end()


# ---- connections


def test_a_driver_and_its_actor_get_an_end_each_once(world: StraightWorld) -> None:
    assert sorted(world.connected) == ["driver", "worker"]
    world.wish(world.actor)
    assert len(world.connected) == 2


def test_an_actor_that_may_restart_is_not_connected() -> None:
    world = StraightWorld(max_restarts=1)
    assert world.connected == []
    world.end()


def test_a_wish_for_an_actor_that_is_not_there_yet_is_met_when_it_is() -> None:
    world = StraightWorld()
    world.connected.clear()
    actor, worker = world.new_actor()
    world.wish(actor)
    assert world.connected == []
    world.returns(worker)
    assert sorted(world.connected) == ["driver", "worker"]
    world.end()


# ---- what is told


def test_a_call_that_ended_before_it_was_told_counts_as_finished(world: StraightWorld) -> None:
    call = world.new_call()
    world.tell(ended=[ended(call)])
    assert world.state(call) is FINISHED
    entry = world.parts.scheduler.task_record(call.task_id).task.payload
    assert (entry.started_at, entry.finished_at, entry.worker_id) == (1.0, 2.0, world.worker.worker_id)
    assert world.objects == set()


def test_an_open_call_runs_and_then_ends_and_its_result_is_no_object(world: StraightWorld) -> None:
    first, second = world.new_call(), world.new_call()
    world.tell(opened=[first, second])
    assert world.state(first) is RUNNING
    assert world.worker.runs == []
    world.tell(ended=[ended(first)])
    assert (world.state(first), world.state(second)) == (FINISHED, RUNNING)
    assert world.objects == set()


def test_who_watches_is_shown_an_open_call_as_soon_as_it_is_told(world: StraightWorld) -> None:
    world.watch()
    before = world.shown().get("FINISHED", 0)
    first, second = world.new_call(), world.new_call()
    world.tell(opened=[first])
    assert world.shown() == {"RUNNING": 1, "FINISHED": before}
    world.tell(ended=[ended(first)], opened=[second])
    assert world.shown() == {"RUNNING": 1, "FINISHED": before + 1}
    world.tell(ended=[ended(second)])
    assert world.shown() == {"FINISHED": before + 2}


def test_a_result_that_was_promised_to_others_becomes_an_object(world: StraightWorld) -> None:
    call = world.new_call()
    world.tell(opened=[call], promised=[call.task_id])
    waiting = world.submit("task", after=call.task_id)
    assert waiting not in [run.task_id for worker in world.running() for run in worker.runs]
    world.tell(ended=[ended(call, VALUE)])
    assert waiting in [run.task_id for worker in world.running() for run in worker.runs]
    world.releases(call)


def test_what_both_ends_told_is_admitted_once_whoever_came_first(world: StraightWorld) -> None:
    orders = [
        [("open",), ("actor",), ("known",)],
        [("actor",), ("open",), ("known",)],
        [("open", "known"), ("actor",)],
        [("known",), ("actor",)],
        [("actor",), ("known",)],
    ]
    for order in orders:
        call = world.new_call()
        for steps in order:
            if steps == ("actor",):
                world.actor_tells(call)
            else:
                world.tell(opened=[call] * ("open" in steps), known=[call.task_id] * ("known" in steps))
        assert (world.state(call), world.status(call)) == (FINISHED, wire.OK), order
        world.releases(call)
    assert not any(world.parts.tasks.straight_calls._half_told.values())
    assert world.objects == set()


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("knows", ["before the actor tells", "after"])
def test_a_result_whose_ref_ended_before_the_actor_told_of_the_call_is_kept_for_nobody(
    world: StraightWorld, knows: str, *, is_open: bool
) -> None:
    call = world.new_call()
    if is_open:
        world.tell(opened=[call])
    world.releases(call)  # the driver has heard from the actor that the head has the result, and nobody wants it
    if knows == "after":
        world.actor_tells(call)
        world.tell(known=[call.task_id])
    else:
        world.tell(known=[call.task_id])
        world.actor_tells(call)
    assert world.state(call) is FINISHED
    assert world.objects == set()
    assert not any(world.parts.tasks.straight_calls._half_told.values())


@pytest.mark.parametrize("is_open", [False, True])
def test_a_result_may_be_an_argument_before_the_actor_told_of_the_call(world: StraightWorld, *, is_open: bool) -> None:
    call = world.new_call()
    if is_open:
        world.tell(opened=[call])
    world.tell(known=[call.task_id])
    waiting = world.submit("task", after=call.task_id)
    assert return_id(waiting, 0) not in world.values
    world.releases(call)
    world.actor_tells(call)
    assert waiting in [run.task_id for worker in world.running() for run in worker.runs]
    for worker in world.running():
        if worker is not world.worker:
            world.returns(worker)
    world.say(wire.Releases([return_id(waiting, 0)]))
    world.settle()
    assert world.objects == set()


def test_an_error_whose_ref_ended_before_the_actor_told_of_the_call_is_nobodys(world: StraightWorld) -> None:
    call = world.new_call()
    world.releases(call)
    world.tell(known=[call.task_id])
    raised = wire.ReturnValue(wire.Value(wire.RAISED, b"x"))
    done = wire.Done(call.task_id, [raised], failed=True, times=[1.0, 2.0])
    world.worker.sock.send(wire.frame([wire.CallTold(call), done]))
    world.settle()
    assert world.state(call) is FAILED
    assert world.objects == set()


def test_the_last_handle_ends_the_actor_only_after_its_open_calls(world: StraightWorld) -> None:
    call = world.new_call()
    world.tell(opened=[call])
    world.say(wire.Releases([world.actor]))
    world.settle()
    assert world.worker.status is None
    world.tell(ended=[ended(call)])
    assert world.worker.status is not None


def test_news_of_an_actor_without_a_connection_end_the_speaker() -> None:
    world = StraightWorld(max_restarts=1)
    world.tell(opened=[world.new_call()])
    assert not any(peer.role == "driver" for peer in world.parts.peers.values())
    world.end()


# ---- who dies


def test_the_death_of_the_actor_fails_what_was_told_and_what_is_told_later(world: StraightWorld) -> None:
    told, late = world.new_call(), world.new_call()
    world.tell(opened=[told])
    world.actor_dies()
    world.tell(opened=[late])
    for call in (told, late):
        assert (world.state(call), world.status(call)) == (FAILED, wire.FAILED)
    world.releases(told, late)
    assert world.objects == set()


def test_an_answer_that_had_left_before_the_actor_died_takes_the_error_back(world: StraightWorld) -> None:
    call = world.new_call()
    world.tell(opened=[call])
    world.actor_dies()
    assert world.status(call) == wire.FAILED
    world.tell(ended=[ended(call)])
    assert world.objects == set()


def test_calls_whose_answers_had_left_before_the_actor_died_count_as_finished_however_many(
    world: StraightWorld,
) -> None:
    before = world.parts.scheduler.counts()
    calls = [world.new_call() for _ in range(KEEP_ENDED + KEEP_FAILED + 10)]
    answered, lost = calls[:-5], calls[-5:]
    world.tell(opened=calls)
    world.actor_dies()
    assert world.state(calls[0]) is None  # so many have failed that it is forgotten
    world.tell(ended=[ended(call) for call in answered])
    counts = world.parts.scheduler.counts()
    assert counts["FINISHED"] - before["FINISHED"] == len(answered)
    assert counts["FAILED"] == len(lost)
    (function,) = (f for f, _ in world.parts.scheduler.tasks_by_function() if f.kind is TaskKind.ACTOR_CALL)
    assert (function.endings, function.unfinished) == ([len(answered), len(lost), 0], 0)
    entry = world.parts.scheduler.task_record(answered[-1].task_id).task.payload
    assert (world.state(answered[-1]), entry.error_type, entry.finished_at) == (FINISHED, "", 2.0)
    world.parts.scheduler.check()
    world.releases(*lost)
    assert world.objects == set()


def test_others_get_the_error_of_a_promised_result_whose_actor_died(world: StraightWorld) -> None:
    call = world.new_call()
    world.tell(opened=[call], promised=[call.task_id])
    waiting = world.submit("task", after=call.task_id)
    world.actor_dies()
    assert world.values[return_id(waiting, 0)] == wire.FAILED
    world.releases(call)


def test_the_death_of_the_driver_ends_its_actor_and_forgets_its_calls(world: StraightWorld) -> None:
    call, other = world.new_call(), world.new_call()
    world.tell(opened=[call], promised=[call.task_id])
    world.worker.sock.send(wire.frame([wire.CallTold(other)]))
    world.settle()
    world._driver.shutdown(2)
    world.settle()
    assert world.parts.tasks.straight_calls._half_told == {}
    assert world.state(call) is not RUNNING
    assert world.worker.status is not None


class StraightCallMachine(RuleBasedStateMachine):
    """Calls of one actor are told by both ends in every order that their connections allow, until the actor dies."""

    def __init__(self) -> None:
        super().__init__()
        self.world = StraightWorld()
        self.open: list[wire.StraightCall] = []  # under way
        self.told: set[bytes] = set()
        self.acks: list[wire.StraightCall] = []  # the actor has answered through the head, the driver has not said so
        self.late: list[wire.StraightCall] = []  # the driver says so first
        self.here: list[wire.StraightCall] = []
        self.there: list[wire.StraightCall] = []
        self.dropped: list[wire.StraightCall] = []  # the refs of these ended before the actor told of them
        self.promised: set[bytes] = set()
        self.dead = False

    def teardown(self) -> None:
        world = self.world
        for call in self.late:
            if not self.dead:
                world.actor_tells(call)
        world.tell(known=[call.task_id for call in self.acks])
        if not self.dead:
            world.actor_dies()
        world.tell(opened=[call for call in self.open if call.task_id not in self.told])
        for call in self.open:
            assert world.status(call) == wire.FAILED
        for call in self.there:
            assert world.status(call) == wire.OK
        promised_here = [call for call in self.here if call.task_id in self.promised]
        world.releases(*self.open, *self.there, *promised_here)
        states = [world.state(call) for call in (*self.here, *self.there, *self.dropped)]
        assert states == [FINISHED] * len(states)
        assert world.objects == set()
        assert not any(world.parts.tasks.straight_calls._half_told.values())
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
    def tell_open(self, data: st.DataObject, promise: bool) -> None:
        call = data.draw(st.sampled_from(self.open))
        opened = [call] * (call.task_id not in self.told)
        promised = [call.task_id] * (promise and not self.dead)
        self.told.add(call.task_id)
        self.promised.update(promised)
        self.world.tell(opened=opened, promised=promised)

    @precondition(lambda self: bool(self.open) and not self.dead)
    @rule()
    def answer_here(self) -> None:
        call = self.open.pop(0)
        value = VALUE if call.task_id in self.promised else None
        self.here.append(call)
        self.world.tell(ended=[ended(call, value)])

    @precondition(lambda self: bool(self.open) and not self.dead)
    @rule(tells=st.sampled_from(["actor first", "driver later", "open later"]))
    def answer_at_the_head(self, tells: str) -> None:
        call = self.open.pop(0)
        self.there.append(call)
        self.world.actor_tells(call)
        if tells == "open later" and call.task_id not in self.told:
            self.world.tell(opened=[call])
        if tells == "driver later":
            self.acks.append(call)
        else:
            self.world.tell(known=[call.task_id])

    @precondition(lambda self: bool(self.open) and not self.dead)
    @rule(wanted=st.booleans())
    def driver_speaks_first(self, wanted: bool) -> None:
        call = self.open.pop(0)
        opened = [call] * (call.task_id not in self.told)
        if not wanted and call.task_id not in self.promised:
            self.world.releases(call)
        self.world.tell(opened=opened, known=[call.task_id])
        (self.there if wanted or call.task_id in self.promised else self.dropped).append(call)
        self.world.actor_tells(call)

    @precondition(lambda self: bool(self.acks))
    @rule()
    def driver_says_known(self) -> None:
        self.world.tell(known=[self.acks.pop().task_id])

    @precondition(lambda self: not self.dead)
    @rule()
    def actor_dies(self) -> None:
        self.dead = True
        self.world.actor_dies()


TestStraightCallMachine = StraightCallMachine.TestCase
TestStraightCallMachine.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
