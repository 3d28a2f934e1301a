"""Many kinds of demand wait at once: who gets what comes back, and how many are looked at for it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbaccel.quantities import UNIT
from nbaccel.scheduling import events as ev
from nbaccel.scheduling import refusals
from nbaccel.scheduling.line_order import LineOrder
from nbaccel.scheduling.line_tree import LineTree
from nbaccel.scheduling.placement import PlaceableChoice
from nbaccel.scheduling.refusals import NeedTree
from nbaccel.scheduling.tasks import Shape
from nbaccel.scheduling.terms import Placement, Task
from tests.scheduling.world import World, choice, demand, node

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


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_tree_of_lines_finds_whom_going_through_all_lines_finds(seed: int) -> None:
    looked = []
    in_tree = LineOrder.first_fitting

    def first_fitting(order: LineOrder, left: dict[str, int], accepts: Any) -> Any:
        found = in_tree(order, left, accepts)
        fitting = [
            (order.rank(shape), shape)
            for shape in order.walk()
            if any(
                accepts(ask) and all(need <= left.get(name, -1) for name, need in ask.needs.items())
                for ask in shape.asks
            )
        ]
        assert (found[:2] if found is not None else None) == min(fitting, key=lambda each: each[0], default=None)
        looked.append(len(fitting))
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(LineOrder, "first_fitting", first_fitting)
        story(0, seed, 25)
    assert looked


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 11), st.booleans()), max_size=60),
    st.dictionaries(st.sampled_from(["CPU", "GPU", "memory"]), st.integers(0, 4)),
    st.permutations([1, 2, 3]),
    st.integers(0, 3),
)
def test_a_tree_of_lines_knows_the_first_that_fits_after_any_changes(
    changes: list[tuple[int, bool]], amounts: dict[str, int], jobs: list[int], number_served: int
) -> None:
    book = World(node("head", 4, CPU=64, memory=64)).scheduler._cluster
    demands = [choice(CPU=cpus, **more) for cpus in (1, 2, 3) for more in ({}, {"GPU": 1}, {"memory": 2}, {"GPU": 2.0})]
    lines = [
        Shape(demands[n : n + 2], tuple(map(book.ask_for, demands[n : n + 2])), None, 1 + n % 3, 0) for n in range(12)
    ]
    tree, there = LineTree(), dict[int, int]()
    left = {name: amount * UNIT for name, amount in amounts.items()}
    served, new = jobs[:number_served], jobs[number_served:]
    turns = {**dict.fromkeys(new, 0), **{job: 1 + turn for turn, job in enumerate(served)}}
    for step, (number, stays) in enumerate(changes):
        if stays:
            there[number] = step
            tree.put(lines[number], (0, step, lines[number]))
        elif there.pop(number, None) is not None:
            tree.take_out(lines[number])
        fitting = [
            (turns[lines[each].job], place)
            for each, place in there.items()
            for ask in lines[each].asks
            if all(need <= left.get(name, -1) for name, need in ask.needs.items())
        ]
        found = tree.first(left, new, served, lambda ask: True)
        first = (turns[found[0][2].job], found[0][1]) if found is not None else None
        assert first == min(fitting, default=None)
    assert bool(tree) == bool(there)


def test_a_device_that_comes_back_is_offered_to_one_line_however_many_wait() -> None:
    world = World(node("head", 1, CPU=1000, memory=1000))
    first = world.gpu_task()
    world.ready()
    for kind in range(KINDS):
        world.submit(f"f{kind}", choice(CPU=1, memory=1 + kind, GPU=1), job=1 + kind % 5)
    exhausted = world.scheduler._cluster.refusals.exhausted
    assert len(exhausted) == KINDS
    world.returns(first)
    world.dies(world.stopping()[0])
    world.ready()
    assert [command.task.name for command in world.sent] == ["train", "f1"]  # job 2 was never served
    assert len(exhausted) == KINDS - 1


@pytest.mark.parametrize("few", [0, 16])
@pytest.mark.parametrize("before", [choice(CPU=9), choice(CPU=9, GPU=1)])
def test_of_two_choices_that_fit_what_comes_back_the_first_is_taken(few: int, before: Any) -> None:
    world = crowd(few, node("head", 1, CPU=4))
    running = world.submit("running", choice(CPU=4, GPU=1))
    world.ready()
    world.submit("never", before)
    task = world.submit("f", choice(CPU=1, GPU=1), choice(label="cpu", CPU=1), fallback_after_s=1.0)
    world.time_passes(2.0)
    assert not world.is_sent(task)
    world.returns(running)
    world.ready()
    assert world.is_sent(task) and world.sent[-1].devices == {"GPU": [(0, UNIT)]}


@pytest.mark.parametrize("few", [0, 16])
def test_a_line_that_is_woken_by_a_new_node_gets_its_first_choice_there(few: int) -> None:
    world = crowd(few, node("head", CPU=1))
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


@pytest.mark.parametrize("few", [0, 16])
def test_of_places_that_come_back_together_each_line_takes_its_first_choice_and_its_best_place(few: int) -> None:
    world = crowd(few, node("head", CPU=0), node("n1", labels={"zone": "a"}, CPU=2))
    world.add_node(node("n2", labels={"zone": "b"}, CPU=2))
    world.tell(ev.GroupAsked(b"g", "g", [demand(CPU=2), demand(CPU=2)], "STRICT_SPREAD", 1))
    world.submit("never", choice(CPU=9))
    in_a, in_b = (choice(Placement(labels=(("zone", zone),)), label=zone, CPU=0.5) for zone in "ab")
    rather_a, rather_b = (choice(Placement(soft_labels=(("zone", zone),)), CPU=0.5) for zone in "ab")
    wanted = {"n1": [(in_a, in_b), (rather_a,)], "n2": [(in_b, in_a), (rather_b,)]}
    tasks = {name: [world.submit("f", *each, fallback_after_s=1.0) for each in of] for name, of in wanted.items()}
    world.time_passes(2.0)
    assert world.groups[b"g"] == "CREATED" and len(list(world.scheduler.waiting())) == 5
    world.tell(ev.GroupRemoveAsked(b"g"))
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


@pytest.mark.parametrize("few", [0, 16])
def test_the_tree_of_needs_finds_what_fits_and_forgets_what_is_removed(
    monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(refusals, "FEW", few)
    world = World(node("head", 4, CPU=64, memory=64))
    book = world.scheduler._cluster
    asks = [book.ask_for(choice(CPU=cpus, memory=memory)) for cpus in (1, 2, 3) for memory in (1, 2)]
    asks += [book.ask_for(choice(CPU=cpus, GPU=1)) for cpus in (1, 2)]
    tree = NeedTree()
    for ask in asks:
        tree.add(ask)

    def names(**left: int) -> set[tuple[int, ...]]:
        amounts = {name: amount * UNIT for name, amount in left.items()}
        found: list[PlaceableChoice] = tree.fitting(amounts, lambda ask: True)
        assert len(found) == len(set(found))
        assert set(tree.fitting(amounts, lambda ask: True, 1)) <= set(found)
        assert bool(tree.fitting(amounts, lambda ask: True, 1)) == bool(found)
        return {tuple(need // UNIT for need in ask.needs.values()) for ask in found}

    assert names(CPU=2, memory=1) == {(1, 1), (2, 1)}
    assert names(GPU=1, CPU=1) == {(1, 1)}
    assert len(names(CPU=9, memory=9)) == 6
    for ask in asks:
        tree.remove(ask)
    assert names(CPU=9, memory=9, GPU=9) == set()
