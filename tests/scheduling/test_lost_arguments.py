"""Arguments that were lost with their node between the choice of a worker and the sending."""

from __future__ import annotations

import pytest

from nbaccel.scheduling import events as ev
from nbaccel.scheduling.moves import IllegalEvent
from nbaccel.scheduling.terms import Task
from tests.scheduling.world import World, choice, node


def lose(world: World, task: Task, *object_ids: bytes) -> None:
    """The head found them gone when it was to send the task."""
    worker = world.worker_of(task)
    worker.queue.remove(task)
    worker.actor = None
    if not worker.queue:
        worker.devices.clear()
    world.notify(ev.ArgumentsLost(task.task_id, set(object_ids)))


def test_the_task_waits_again_and_others_use_its_worker() -> None:
    world = World(node(CPU=1))
    first = world.submit("first")
    world.ready()
    lose(world, first, b"x", b"y")
    assert world.scheduler.task_record(first.task_id).state.name == "PENDING_ARGS_AVAIL"  # type: ignore[union-attr]
    second = world.submit("second")
    assert world.is_sent(second) and not world.is_sent(first)
    world.returns(second)
    world.notify(ev.ObjectsReady([b"x"]))
    assert not world.is_sent(first)
    world.notify(ev.ObjectsReady([b"y"]))
    world.returns(first)
    assert world.outcomes == {first.task_id: "finished", second.task_id: "finished"}


def test_its_devices_are_free_meanwhile() -> None:
    world = World(node(CPU=2, gpus=1))
    first = world.submit("first", choice(CPU=1, GPU=1))
    world.ready()
    lose(world, first, b"x")
    second = world.submit("second", choice(CPU=1, GPU=1))
    world.ready()
    assert world.is_sent(second)
    world.returns(second)
    world.notify(ev.ObjectsReady([b"x"]))
    world.ready()
    world.returns(first)
    assert world.outcomes[first.task_id] == "finished"


def test_a_constructor_waits_too() -> None:
    world = World(node(CPU=1))
    actor = world.actor()
    world.ready()
    lose(world, actor, b"x")
    assert world.actors[b"a"] == "PENDING"
    world.notify(ev.ObjectsReady([b"x"]))
    world.ready()
    world.returns(actor)
    assert world.actors[b"a"] == "ALIVE"


def test_a_task_that_is_over_is_left_alone() -> None:
    world = World(node(CPU=1))
    task = world.submit()
    world.ready()
    world.returns(task)
    assert world.notify(ev.ArgumentsLost(task.task_id, {b"x"})) == []


def test_a_call_of_an_actor_cannot_be_taken_back() -> None:
    world = World(node(CPU=1))
    actor = world.actor()
    world.ready()
    world.returns(actor)
    call = world.call()
    with pytest.raises(IllegalEvent):
        world.notify(ev.ArgumentsLost(call.task_id, {b"x"}))


def test_a_cancelled_one_stays_cancelled() -> None:
    world = World(node(CPU=1))
    task = world.submit()
    world.ready()
    world.notify(ev.CancelRequested(task.task_id))
    lose(world, task, b"x")
    assert world.outcomes[task.task_id] == "cancelled"


def test_a_group_that_packs_takes_one_node_where_one_holds_all() -> None:
    world = World(node(CPU=1), node("large", CPU=4))
    bundles = [choice(CPU=1).demand] * 2
    world.notify(ev.GroupRequested(b"g", "g", bundles, "PACK", 1))
    record = world.scheduler.group_record(b"g")
    assert record is not None and {place.node_id for place in record.places.values()} == {b"large"}


@pytest.mark.parametrize("place", [0, 1])
def test_one_of_several_that_were_sent_ahead_is_taken_out(place: int) -> None:
    world = World(node(CPU=1))
    tasks = [world.submit("short") for _ in range(20)]
    world.ready()
    for task in tasks[:4]:
        world.returns(task, after_s=0.0001)
    worker = next(worker for worker in world.workers.values() if len(worker.queue) > 1)
    lost = worker.queue[place]
    lose(world, lost, b"x")
    world.notify(ev.ObjectsReady([b"x"]))
    while len(world.outcomes) < len(tasks):
        running = next(worker.queue[0] for worker in world.workers.values() if worker.queue)
        world.returns(running, after_s=0.0001)
    assert set(world.outcomes.values()) == {"finished"}
