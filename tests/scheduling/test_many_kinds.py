"""Many kinds of demand wait at once: who gets what comes back, and how many are looked at for it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbaccel.quantities import UNIT
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.tasks import Shape, TaskRecord
from nbaccel.scheduling.terms import Placement, Task
from tests.scheduling.world import World, choice, demand, node

KINDS = 60


def kinds_of_work(world: World, dice: random.Random, number: int) -> list[Task]:
    """Tasks of many shapes: CPUs, memory, whole devices and parts of them, some for one zone, of three jobs."""
    tasks = []
    for each in range(number):
        gpus = dice.choice([0, 0.25, 0.5, 1, 2])
        placement = Placement(labels=(("zone", "a"),)) if each % 7 == 0 else Placement()
        placement = Placement(strategy="SPREAD") if each % 9 == 0 else placement
        amounts = {"CPU": dice.choice([1, 2, 3]), "memory": each % 5, **({"GPU": gpus} if gpus else {})}
        first = choice(placement, **amounts)
        rest = [choice(label="cpu", CPU=4)] if each % 11 == 0 else []
        tasks.append(world.submit(f"f{each}", first, *rest, job=1 + each % 3, fallback_after_s=5.0 if rest else None))
    return tasks


def plain_next(world: World) -> Task | None:
    """Whose turn it is: the first of the lines that have room for one of their choices, found by trying all of them."""
    scheduler = world.scheduler
    turns = scheduler._dispatcher._turns

    def could_start(shape: Shape) -> bool:
        places = scheduler._cluster.nodes.values()
        return any(
            place.alive and place.meets(ask.choice.placement.labels) and place.lacks_now(ask.asked) is None
            for ask in shape.requests
            for place in places
        )

    able = [shape for shape in scheduler._tasks.shapes.values() if shape.size and could_start(shape)]
    ranks = {
        shape: (turns.get(shape.job, 0), -shape.depth, first.seq)
        for shape in able
        if (first := shape.first()) is not None
    }
    best = min(ranks, key=ranks.__getitem__, default=None)
    first = best.first() if best is not None else None
    return first.task if first is not None else None


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_whoever_starts_is_the_one_whom_trying_all_lines_finds(seed: int) -> None:
    dice = random.Random(seed)
    world = World(
        node("head", 2, CPU=4, memory=9), node("n1", 3, {"zone": "a"}, CPU=6, memory=9), node("n2", CPU=3, memory=2)
    )
    dispatcher: Any = world.scheduler._dispatcher
    start, found = dispatcher._start, list[bool]()

    def checked(shape: Shape, record: TaskRecord, now: float) -> bool:
        wanted = plain_next(world) if record.task.terms.fallback_after_s is None else record.task
        started = bool(start(shape, record, now))
        if started and wanted is not None and wanted.terms.fallback_after_s is None:
            assert record.task is wanted
            found.append(True)
        return started

    dispatcher._start = checked
    tasks = kinds_of_work(world, dice, 25)
    for _ in range(25):
        world.ready()
        running = [task for task in tasks if world.is_sent(task) and world.worker_of(task).queue[0] is task]
        waiting = [task for task in tasks if task.task_id not in world.outcomes and not world.is_sent(task)]
        what = dice.choice(["return", "return", "return", "die", "cancel", "submit", "later"])
        if what in ("return", "die") and running:
            task = dice.choice(running)
            if what == "return":
                world.returns(task)
            else:
                world.dies(world.worker_of(task))
        elif what == "cancel" and waiting:
            world.notify(ev.CancelRequested(dice.choice(waiting).task_id))
        elif what == "submit":
            tasks += kinds_of_work(world, dice, 3)
        elif what == "later":
            world.time_passes(1.0)
    assert found


def test_a_device_that_comes_back_goes_to_one_line_however_many_wait() -> None:
    world = World(node("head", 1, CPU=1000, memory=1000))
    first = world.gpu_task()
    world.ready()
    for kind in range(KINDS):
        world.submit(f"f{kind}", choice(CPU=1, memory=1 + kind, GPU=1), job=1 + kind % 5)
    exhausted = world.scheduler._cluster.exhausted
    assert len(exhausted) == KINDS
    world.returns(first)
    world.dies(world.stopping()[0])
    world.ready()
    assert [command.task.name for command in world.sent] == ["train", "f1"]  # job 2 was never served
    assert all(not ask.offers for ask in exhausted if ask.is_waited_for)


@pytest.mark.parametrize("before", [choice(CPU=9), choice(CPU=9, GPU=1)])
def test_of_two_choices_that_fit_what_comes_back_the_first_is_taken(before: Any) -> None:
    world = World(node("head", 1, CPU=4))
    running = world.submit("running", choice(CPU=4, GPU=1))
    world.ready()
    world.submit("never", before)
    task = world.submit("f", choice(CPU=1, GPU=1), choice(label="cpu", CPU=1), fallback_after_s=1.0)
    world.time_passes(2.0)
    assert not world.is_sent(task)
    world.returns(running)
    world.ready()
    assert world.is_sent(task) and world.sent[-1].devices == {"GPU": [(0, UNIT)]}


def test_a_line_that_is_woken_by_a_new_node_gets_its_first_choice_there() -> None:
    world = World(node("head", CPU=1))
    world.submit("running")
    world.ready()
    world.submit("never", choice(CPU=9))
    on_n1 = choice(Placement("NODE", node_id=b"n1"), label="cpu", CPU=1)
    task = world.submit("f", choice(CPU=1, GPU=1), on_n1, fallback_after_s=1.0)
    world.time_passes(2.0)
    assert not world.is_sent(task)
    world.add_node(node("n1", 1, CPU=2))
    world.ready()
    assert world.is_sent(task) and world.sent[-1].devices == {"GPU": [(0, UNIT)]}


def test_of_places_that_come_back_together_each_line_takes_its_first_choice_and_its_best_place() -> None:
    world = World(node("head", CPU=0), node("n1", labels={"zone": "a"}, CPU=2))
    world.add_node(node("n2", labels={"zone": "b"}, CPU=2))
    world.notify(ev.GroupRequested(b"g", "g", [demand(CPU=2), demand(CPU=2)], "STRICT_SPREAD", 1))
    world.submit("never", choice(CPU=9))
    in_a, in_b = (choice(Placement(labels=(("zone", zone),)), label=zone, CPU=0.5) for zone in "ab")
    rather_a, rather_b = (choice(Placement(soft_labels=(("zone", zone),)), CPU=0.5) for zone in "ab")
    wanted = {"n1": [(in_a, in_b), (rather_a,)], "n2": [(in_b, in_a), (rather_b,)]}
    tasks = {name: [world.submit("f", *each, fallback_after_s=1.0) for each in of] for name, of in wanted.items()}
    world.time_passes(2.0)
    assert world.groups[b"g"] == "CREATED" and len(list(world.scheduler.waiting())) == 5
    world.notify(ev.GroupRemoveRequested(b"g"))
    world.ready()
    assert {name: [world.node_of(task) for task in of] for name, of in tasks.items()} == {
        "n1": ["n1", "n1"],
        "n2": ["n2", "n2"],
    }


def test_what_comes_back_goes_to_the_job_that_was_served_the_longest_ago() -> None:
    world = World(node("head", 1, CPU=1000))
    running = world.gpu_task(job=1)
    world.ready()
    for number in range(40):
        world.gpu_task(f"f{number}", job=1 + number // 20, retries_left=number, fallback_after_s=float(number))
    for name in ("f20", "f0", "f21", "f1"):
        world.returns(running)
        world.dies(world.stopping()[0])
        world.ready()
        running = world.sent[-1].task
        assert running.name == name


def test_a_choice_for_which_nobody_waits_is_offered_what_comes_back_too() -> None:
    world = World(node("head", 1, CPU=100))
    running = world.gpu_task()
    world.ready()
    for kind in range(KINDS):
        later = world.submit(f"f{kind}", choice(CPU=1 + kind, GPU=1))
        world.notify(ev.CancelRequested(later.task_id))
    world.returns(running)
    world.dies(world.stopping()[0])
    for kind in range(KINDS):
        task = world.submit(f"g{kind}", choice(CPU=1 + kind, GPU=1), fresh=True, max_calls=1)
        world.ready()
        assert world.is_sent(task)
        world.returns(task)
        world.dies(world.stopping()[0])
