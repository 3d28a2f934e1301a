"""Whatever an order raises while it is carried out: every task ends, and nothing stays taken."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling import commands as do
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.terms import TaskKind
from tests.local_engine.head_world import KILLED, TEMPLATES, FakeWorker, HeadWorld

ORDERS = [
    do.StartWorker,
    do.SendTasks,
    do.RecallTasks,
    do.TrimWorker,
    do.InterruptTask,
    do.StopWorker,
    do.ReleaseDevices,
    do.FailTask,
    do.FinishTasks,
    do.ActorChanged,
    do.GroupChanged,
    do.Warn,
    do.WakeAt,
]


def assert_all_ended(world: HeadWorld) -> None:
    """Everything has an outcome that the driver knows of, and nothing is held."""
    scheduler, head = world.wiring.scheduler, world.wiring
    unheard = [id for id in world.expected if id not in world.values]
    assert not unheard, f"the driver has not heard of {len(unheard)} results: {[name_of(world, id) for id in unheard]}"
    assert all(world.streams.values()), "a stream's end was not told"
    left = [str(record) for record in [*scheduler.waiting(), *scheduler.running()]]
    assert not left, f"these never ended: {left}"
    for node_id in scheduler.node_ids():
        assert scheduler.node_available(node_id) == scheduler.node_totals(node_id)
    assert not world.leases, f"these devices are still leased: {world.leases}"
    assert not head.devices.device_leases._of_worker
    world.let_go()
    objects = set(head.objects.records) - set(world.actors)  # the rows of dead actors stay for a while
    assert not objects, f"objects are left: {[(name_of(world, id), head.objects.records[id]) for id in objects]}"
    assert not head.objects.stored and head.store.arena.used == 0
    ledger.check(head.objects)
    known = {worker_id for worker_id in head.workers.by_id if scheduler.worker_record(worker_id) is not None}
    assert known == set(head.workers.by_id), "the head keeps workers that the scheduler does not know"
    alive = {worker.worker_id for worker in world.workers.values() if worker.status is None}
    assert alive == known, "a process lives that nobody knows, or is missed"


def name_of(world: HeadWorld, id: bytes) -> str:
    record = world.wiring.scheduler.task_record(id[:24])
    return str(record) if record is not None else id.hex()


class AnyFault(RuleBasedStateMachine):
    """A driver and workers do as they like, and any order may raise at any of the calls that it makes."""

    @initialize()
    def begin(self) -> None:
        self.before = len(os.listdir("/proc/self/fd"))
        self.world = HeadWorld()

    @rule(
        name=st.sampled_from([name for name, template in TEMPLATES.items() if template.kind is TaskKind.TASK]),
        order=st.sampled_from(ORDERS),
        call=st.integers(0, 60),
        after=st.booleans(),
    )
    def submit(self, name: str, order: type, call: int, after: bool) -> None:
        with self.world.fault(order, call):
            self.world.submit(name, self.world.submitted[-1] if after and self.world.submitted else None)

    @rule(number=st.integers(2, 20), order=st.sampled_from(ORDERS), call=st.integers(0, 60))
    def submit_together(self, number: int, order: type, call: int) -> None:
        with self.world.fault(order, call):
            self.world.submit_together("task", number)

    @precondition(lambda self: self._with_several())
    @rule(
        data=st.data(),
        number=st.integers(2, 20),
        rounds=st.integers(1, 3),
        order=st.sampled_from([do.SendTasks, do.FinishTasks, *ORDERS]),
        call=st.integers(0, 60),
    )
    def tasks_return_together(self, data: st.DataObject, number: int, rounds: int, order: type, call: int) -> None:
        worker = data.draw(st.sampled_from(self._with_several()))
        with self.world.fault(order, call):
            for _ in range(rounds):
                self.world.return_together(worker, number)

    def _with_several(self) -> list[FakeWorker]:
        return [worker for worker in self.world.running() if len(worker.runs) > 1]

    @rule(name=st.sampled_from(["actor", "learner"]), order=st.sampled_from(ORDERS), call=st.integers(0, 60))
    def create_actor(self, name: str, order: type, call: int) -> None:
        with self.world.fault(order, call):
            self.world.create_actor(name)

    @precondition(lambda self: self.world.actors)
    @rule(data=st.data(), order=st.sampled_from(ORDERS), call=st.integers(0, 60))
    def call_actor(self, data: st.DataObject, order: type, call: int) -> None:
        with self.world.fault(order, call):
            self.world.submit("call", actor_id=data.draw(st.sampled_from(self.world.actors)))

    @rule(order=st.sampled_from(ORDERS), call=st.integers(0, 40))
    def ask_for_group(self, order: type, call: int) -> None:
        with self.world.fault(order, call):
            self.world.ask_for_group()

    @precondition(lambda self: self.world.running())
    @rule(data=st.data(), failed=st.booleans(), order=st.sampled_from(ORDERS), call=st.integers(0, 60))
    def task_returns(self, data: st.DataObject, failed: bool, order: type, call: int) -> None:
        with self.world.fault(order, call):
            self.world.returns(data.draw(st.sampled_from(self.world.running())), failed=failed)

    @precondition(lambda self: self.world.running())
    @rule(data=st.data(), order=st.sampled_from(ORDERS), call=st.integers(0, 60))
    def worker_dies(self, data: st.DataObject, order: type, call: int) -> None:
        with self.world.fault(order, call):
            self.world.dies(data.draw(st.sampled_from(self.world.running())))
            self.world.settle()

    @precondition(lambda self: self.world.submitted)
    @rule(data=st.data(), force=st.booleans(), order=st.sampled_from(ORDERS), call=st.integers(0, 60))
    def cancel(self, data: st.DataObject, force: bool, order: type, call: int) -> None:
        with self.world.fault(order, call):
            self.world.send(wire.Cancel(data.draw(st.sampled_from(self.world.submitted)), force))
            self.world.settle()

    @precondition(lambda self: self.world.actors)
    @rule(data=st.data(), again=st.booleans(), order=st.sampled_from(ORDERS), call=st.integers(0, 60))
    def kill_actor(self, data: st.DataObject, again: bool, order: type, call: int) -> None:
        with self.world.fault(order, call):
            self.world.send(wire.KillActor(data.draw(st.sampled_from(self.world.actors)), not again))
            self.world.settle()

    @rule(seconds=st.sampled_from([0.006, 0.5, 6.0]), order=st.sampled_from(ORDERS), call=st.integers(0, 60))
    def time_passes(self, seconds: float, order: type, call: int) -> None:
        with self.world.fault(order, call):
            self.world.jump(seconds)

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        try:
            self.world.finish()
            assert_all_ended(self.world)
        finally:
            self.world.end()
        assert len(os.listdir("/proc/self/fd")) <= self.before, "a descriptor was leaked"


AnyFault.TestCase.settings = settings(
    max_examples=60, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
# A fault may come between the opening of a socket and its keeping: Python closes it, and the world counts descriptors.
TestAnyFault = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")(AnyFault.TestCase)


@pytest.fixture
def world():
    world = HeadWorld()
    yield world
    world.end()


def run_into(world: HeadWorld, order: type, name: str) -> str:
    """Submit a task whose order of this kind raises at once; the words of its error."""
    with world.fault(order, 0):
        task_id = world.submit(name)
    world.finish()
    entry = world.wiring.scheduler.task_record(task_id).task.payload
    assert_all_ended(world)
    return entry.note


def test_a_task_that_cannot_be_sent_fails_with_what_the_head_ran_into(world: HeadWorld) -> None:
    assert "the head failed to send it: Fault: at Sending.send" in run_into(world, do.SendTasks, "train")


def test_a_result_that_could_not_be_written_is_written_once_more(world: HeadWorld) -> None:
    assert run_into(world, do.FinishTasks, "pair") == ""
    assert set(world.values.values()) == {wire.OK}


def test_a_worker_that_cannot_be_started_is_started_anew(world: HeadWorld) -> None:
    assert run_into(world, do.StartWorker, "train") == ""
    assert set(world.values.values()) == {wire.OK}


def test_a_worker_that_the_head_fails_to_stop_is_killed(world: HeadWorld) -> None:
    task_id = world.submit("task")
    with world.fault(do.StopWorker, 0):
        world.send(wire.Cancel(task_id, True))
        world.settle()
    assert [worker.status for worker in world.workers.values() if worker.runs] == [KILLED]
    world.finish()
    assert_all_ended(world)


def test_an_actor_lives_on_when_one_of_its_calls_cannot_be_sent(world: HeadWorld) -> None:
    actor_id = world.create_actor("actor")
    world.returns(world.running()[0])
    with world.fault(do.SendTasks, 0):
        lost = world.submit("call", actor_id=actor_id)
    kept = world.submit("call", actor_id=actor_id)
    for worker in world.running():
        world.returns(worker)
    assert [world.values[return_id(task_id, 0)] for task_id in (lost, kept)] == [wire.FAILED, wire.OK]
    world.finish()
    assert_all_ended(world)


def test_an_event_that_is_refused_does_not_hold_up_those_behind_it(world: HeadWorld) -> None:
    """They were told while an order was carried out."""
    head = world.wiring
    act = head.orders._acts[do.SendTasks]

    def telling(command: do.SendTasks) -> None:
        head.orders._acts[do.SendTasks] = act
        head.notify(ev.WorkerDied(b"?", "nobody knows it"))
        head.notify(ev.DeviceChanged(head.nodes.node_id, "GPU", 0, 0, "held by notebook b.ipynb"))
        act(command)

    head.orders._acts[do.SendTasks] = telling
    world.submit("task")
    assert "held by notebook b.ipynb" in [device.reason for device in head.scheduler.devices(head.nodes.node_id)]


def test_without_a_fault_the_made_up_world_works(world: HeadWorld) -> None:
    first = world.submit("pair")
    world.submit("task", first)
    world.submit("train")
    actor_id = world.create_actor("learner")
    world.submit("call", actor_id=actor_id)
    world.ask_for_group()
    world.finish()
    assert_all_ended(world)
    assert set(world.values.values()) == {wire.OK}
