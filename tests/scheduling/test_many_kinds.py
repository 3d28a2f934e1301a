"""Many kinds of demand wait at once: who gets what comes back, and how many are looked at for it."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from nbaccel.quantities import UNIT
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.line_order import LineOrder
from nbaccel.scheduling.placement import PlaceableChoice
from nbaccel.scheduling.refusals import NeedTree
from nbaccel.scheduling.terms import Placement, Task
from tests.scheduling.world import World, choice, node

KINDS = 60


def crowd(few: int, *nodes: Any) -> World:
    """A world that compares at most so many lines with each other, and goes through all of them when there are more."""
    world = World(*nodes)
    world.scheduler._cluster.refusals.few = few
    return world


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


def story(few: int, seed: int, steps: int) -> list[str]:
    """All commands of a random run, as text."""
    dice = random.Random(seed)
    nodes = [
        node("head", 2, CPU=4, memory=9),
        node("n1", 3, {"zone": "a"}, CPU=6, memory=9),
        node("n2", CPU=3, memory=2),
    ]
    world = crowd(few, *nodes)
    told: list[str] = []
    tell = world.tell

    def note(event: ev.Event, after_s: float = 0.0) -> Any:
        commands = tell(event, after_s)
        told.extend(map(_words, commands))
        return commands

    world.tell = note  # type: ignore[method-assign]
    tasks = kinds_of_work(world, dice, 25)
    for _ in range(steps):
        world.ready()
        running = [task for task in tasks if world.is_sent(task) and world.worker_of(task).queue[0] is task]
        waiting = [task for task in tasks if task.task_id not in world.outcomes and not world.is_sent(task)]
        what = dice.choice(["return", "return", "return", "die", "cancel", "submit", "later"])
        if what in ("return", "die") and running:
            task = dice.choice(running)
            worker = world.worker_of(task)
            if what == "return":
                world.returns(task)
            else:
                world.dies(worker)
        elif what == "cancel" and waiting:
            world.tell(ev.CancelAsked(dice.choice(waiting).task_id))
        elif what == "submit":
            tasks += kinds_of_work(world, dice, 3)
        elif what == "later":
            world.time_passes(1.0)
    return told


def _words(command: Any) -> str:
    task = getattr(command, "task", None)
    words = [type(command).__name__, getattr(command, "worker_id", b"").decode(), task.task_id.decode() if task else ""]
    return " ".join([*words, repr(getattr(command, "devices", "")), repr(getattr(command, "node_id", ""))])


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_same_tasks_start_in_the_same_order_however_the_lines_are_looked_through(seed: int) -> None:
    compared, walked = story(1_000, seed, 25), story(0, seed, 25)
    assert compared == walked
    assert story(2, seed, 25) == walked


def test_a_device_that_comes_back_is_offered_to_one_line_however_many_wait() -> None:
    world = World(node("head", 1, CPU=1000, memory=1000))
    first = world.gpu_task()
    world.ready()
    for kind in range(KINDS):
        world.submit(f"f{kind}", choice(CPU=1, memory=1 + kind, GPU=1), job=1 + kind % 5)
    place = world.scheduler._cluster.nodes[b"head"]
    assert len(place.refused) == KINDS
    world.returns(first)
    world.dies(world.stopping()[0])
    world.ready()
    assert [command.task.name for command in world.sent] == ["train", "f1"]  # job 2 was never served
    assert len(place.refused) == KINDS - 1


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
        world.tell(ev.CancelAsked(later.task_id))
    world.returns(running)
    world.dies(world.stopping()[0])
    for kind in range(KINDS):
        task = world.submit(f"g{kind}", choice(CPU=1 + kind, GPU=1), fresh=True, max_calls=1)
        world.ready()
        assert world.is_sent(task)
        world.returns(task)
        world.dies(world.stopping()[0])


def test_lines_are_walked_by_turn_of_their_job_then_depth_then_first_task() -> None:
    world = World(node("head", CPU=1))
    world.submit("running")
    tasks = [world.submit(f"f{number}", choice(CPU=1, memory=0, x=0), job=1 + number % 2) for number in range(4)]
    order: LineOrder = world.scheduler._tasks.order
    assert [shape.job for shape in order.walk()] == [2, 1]  # job 1 was served
    for task in tasks:
        world.tell(ev.CancelAsked(task.task_id))
    assert list(order.walk()) == []


def test_the_tree_of_needs_finds_what_fits_and_forgets_what_is_removed() -> None:
    world = World(node("head", 4, CPU=64, memory=64))
    book = world.scheduler._cluster
    asks = [book.ask_for(choice(CPU=cpus, memory=memory)) for cpus in (1, 2, 3) for memory in (1, 2)]
    asks += [book.ask_for(choice(CPU=cpus, GPU=1)) for cpus in (1, 2)]
    tree = NeedTree()
    for ask in asks:
        tree.add(ask)

    def names(**left: int) -> set[tuple[int, ...]]:
        found: list[PlaceableChoice] = list(tree.fitting({name: amount * UNIT for name, amount in left.items()}))
        assert len(found) == len(set(found))
        return {tuple(need // UNIT for need in ask.needs.values()) for ask in found}

    assert names(CPU=2, memory=1) == {(1, 1), (2, 1)}
    assert names(GPU=1, CPU=1) == {(1, 1)}
    assert len(names(CPU=9, memory=9)) == 6
    for ask in asks:
        tree.remove(ask)
    assert names(CPU=9, memory=9, GPU=9) == set()
