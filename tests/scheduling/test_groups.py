"""Placement groups: where their bundles lie, who may use them, and what goes with them."""

from __future__ import annotations

import pytest

from nbaccel.quantities import UNIT
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.events import GroupRequested
from nbaccel.scheduling.terms import Choice, Placement
from tests.scheduling.world import World, choice, demand, node

Bundle = tuple[tuple[str, int], ...]


def cluster() -> World:
    return World(node("head", 2, CPU=4), node("n1", 2, CPU=4), node("n2", 0, CPU=4))


def ask(w: World, bundles: list[Bundle], strategy: str = "PACK", group_id: bytes = b"g") -> list[str]:
    w.notify(GroupRequested(group_id, "group", bundles, strategy, 1))
    group = w.scheduler.group_record(group_id)
    assert group is not None
    return [group.places[index].node_id.decode() for index in sorted(group.places)]


def inside(bundle: int = -1, **amounts: float) -> Choice:
    return choice(Placement("GROUP", group_id=b"g", bundle=bundle), **amounts)


@pytest.mark.parametrize(("preferred", "lies_on"), [(b"n1", "n1"), (b"n2", "head"), (b"gone", "head")])
def test_a_group_on_one_node_lies_on_the_preferred_one_where_it_fits(preferred: bytes, lies_on: str) -> None:
    w = cluster()
    w.notify(GroupRequested(b"g", "group", [demand(CPU=1, GPU=1)] * 2, "STRICT_PACK", 1, soft_node=preferred))
    group = w.scheduler.group_record(b"g")
    assert group is not None and {place.node_id.decode() for place in group.places.values()} == {lies_on}


@pytest.mark.parametrize(
    ("strategy", "bundles", "nodes"),
    [
        ("PACK", [demand(CPU=2)] * 2, ["head", "head"]),
        ("PACK", [demand(CPU=3)] * 2, ["head", "n1"]),
        ("STRICT_PACK", [demand(CPU=2)] * 2, ["head", "head"]),
        ("STRICT_PACK", [demand(CPU=3)] * 2, []),
        ("SPREAD", [demand(CPU=1)] * 4, ["head", "n1", "n2", "head"]),
        ("STRICT_SPREAD", [demand(CPU=1)] * 3, ["head", "n1", "n2"]),
        ("STRICT_SPREAD", [demand(CPU=1)] * 4, []),
        ("STRICT_SPREAD", [demand(CPU=1), demand(CPU=1, GPU=1), demand(CPU=1, GPU=1)], ["n2", "head", "n1"]),
    ],
)
def test_bundles_lie_as_the_strategy_says(strategy: str, bundles: list[Bundle], nodes: list[str]) -> None:
    w = cluster()
    assert ask(w, bundles, strategy) == nodes
    assert w.groups[b"g"] == ("CREATED" if nodes else "PENDING")


def test_all_bundles_are_reserved_or_none() -> None:
    w = cluster()
    ask(w, [demand(GPU=2), demand(GPU=2), demand(GPU=1)])
    assert w.groups[b"g"] == "PENDING"
    assert w.scheduler.node_available(b"head")["GPU"] == 2 * UNIT
    assert w.warnings[0].kind == "infeasible"
    assert "do not fit together" in w.warnings[0].message


def test_a_group_waits_until_there_is_room() -> None:
    w = cluster()
    tasks = [w.gpu_task() for _ in range(4)]
    w.ready()
    assert ask(w, [demand(GPU=1), demand(GPU=1)]) == []
    w.returns(tasks[0])
    w.dies(w.stopping()[0])
    assert w.groups[b"g"] == "PENDING"
    w.returns(tasks[1])
    w.dies(w.stopping()[0])
    assert w.groups[b"g"] == "CREATED"


def test_a_bundle_has_fixed_devices_and_only_its_own_work_gets_them() -> None:
    w = cluster()
    ask(w, [demand(CPU=1, GPU=1), demand(CPU=1, GPU=1)], "STRICT_PACK")
    second = w.submit("second", inside(1, CPU=1, GPU=1))
    first = w.submit("first", inside(0, CPU=1, GPU=1))
    outside = w.gpu_task("outside")
    w.ready()
    assert w.devices_of(first) == {"GPU": [(0, UNIT)]}
    assert w.devices_of(second) == {"GPU": [(1, UNIT)]}
    assert w.node_of(outside) == "n1"


def test_any_bundle_with_room_will_do() -> None:
    w = cluster()
    ask(w, [demand(CPU=1), demand(CPU=2)])
    big, small = w.submit("big", inside(CPU=2)), w.submit("small", inside(CPU=1))
    w.ready()
    assert w.is_sent(big) and w.is_sent(small)


MIXED = [demand(CPU=1), demand(CPU=2, GPU=1)]


def test_who_names_no_bundle_draws_on_all_bundles_of_a_node() -> None:
    w = cluster()
    ask(w, MIXED, "STRICT_PACK")
    cpu_tasks = [w.submit("cpu", inside(CPU=1)) for _ in range(2)]
    gpu = w.submit("gpu", inside(CPU=1, GPU=1))
    late = w.submit("late", inside(CPU=1))
    w.ready()
    assert all(w.is_sent(task) for task in (*cpu_tasks, gpu))
    assert w.devices_of(gpu) == {"GPU": [(0, UNIT)]}
    assert not w.is_sent(late)
    w.returns(gpu)
    w.ready()
    assert w.is_sent(late)


def test_a_bundle_lends_out_what_the_group_has_left_and_not_more() -> None:
    w = cluster()
    ask(w, MIXED, "STRICT_PACK")
    anywhere = [w.submit("anywhere", inside(CPU=1)) for _ in range(2)]
    second = w.submit("second", inside(1, CPU=2))
    first = w.submit("first", inside(0, CPU=1))
    w.ready()
    assert w.is_sent(first)
    assert not w.is_sent(second)
    for task in anywhere:
        w.returns(task)
    w.ready()
    assert w.is_sent(second)


def test_who_names_a_bundle_gets_no_more_than_it_has() -> None:
    w = cluster()
    ask(w, MIXED, "STRICT_PACK")
    one, two = w.submit("one", inside(0, CPU=1)), w.submit("two", inside(0, CPU=1))
    w.ready()
    assert w.is_sent(one) and not w.is_sent(two)
    w.returns(one)
    w.ready()
    assert w.is_sent(two)


def test_a_device_that_was_taken_without_naming_a_bundle_is_not_given_out_twice() -> None:
    w = cluster()
    ask(w, [demand(GPU=1), demand(GPU=1)], "STRICT_PACK")
    anywhere = w.submit("anywhere", inside(GPU=1), fresh=True)
    first, second = w.submit("first", inside(0, GPU=1), fresh=True), w.submit("second", inside(1, GPU=1), fresh=True)
    w.ready()
    assert w.devices_of(anywhere) == {"GPU": [(0, UNIT)]}
    assert w.devices_of(second) == {"GPU": [(1, UNIT)]}
    assert not w.is_sent(first)
    rows = w.scheduler.device_holders(b"head")
    assert [(row.index, row.amount, str(row.held_by)) for row in rows] == [
        (0, UNIT, str(w.scheduler.task_record(anywhere.task_id))),
        (1, UNIT, str(w.scheduler.task_record(second.task_id))),
    ]
    explanation = w.scheduler.explain(first.task_id)
    assert explanation is not None
    assert [(fact.name, fact.index) for fact in explanation.holders] == [("anywhere", 0)]


def test_two_halves_of_a_device_are_shared_by_who_names_no_bundle() -> None:
    w = cluster()
    ask(w, [demand(GPU=0.5), demand(GPU=0.5)], "STRICT_PACK")
    halves = [w.submit("half", inside(GPU=0.5)) for _ in range(2)]
    w.ready()
    assert [w.devices_of(half) for half in halves] == [{"GPU": [(0, 5000)]}] * 2


def test_a_removed_group_keeps_its_nodes_share_until_all_who_named_no_bundle_are_gone() -> None:
    w = cluster()
    ask(w, [demand(CPU=1, GPU=1), demand(CPU=1, GPU=1)], "STRICT_PACK")
    task = w.submit("task", inside(CPU=1, GPU=1), fresh=True)
    w.ready()
    assert w.is_sent(task)
    w.notify(ev.GroupRemoveRequested(b"g"))
    assert w.scheduler.node_available(b"head")["GPU"] == 0
    for worker in w.stopping():
        w.dies(worker)
    assert w.scheduler.node_available(b"head") == w.scheduler.node_totals(b"head")


def test_the_bundles_of_each_node_are_drawn_on_by_themselves() -> None:
    w = cluster()
    assert ask(w, [demand(CPU=2), demand(CPU=2), demand(CPU=2)], "STRICT_SPREAD") == ["head", "n1", "n2"]
    tasks = [w.submit("f", inside(CPU=2)) for _ in range(4)]
    w.ready()
    assert {w.node_of(task) for task in tasks[:3]} == {"head", "n1", "n2"}
    assert not w.is_sent(tasks[3])
    w.notify(ev.NodeRemoved(b"n2"))
    assert w.groups[b"g"] == "RESCHEDULING"
    w.returns(tasks[0])
    w.ready()
    assert w.node_of(tasks[3]) == "head"


def test_a_demand_that_fits_no_bundle_is_told_at_once() -> None:
    w = cluster()
    ask(w, [demand(CPU=1)])
    w.submit("f", inside(CPU=2))
    assert w.warnings[0].kind == "infeasible"
    assert "placement group" in w.warnings[0].message


def test_work_for_a_group_that_is_not_placed_yet_waits_without_a_warning() -> None:
    w = cluster()
    fill = [w.gpu_task() for _ in range(4)]
    w.ready()
    ask(w, [demand(GPU=1)])
    task = w.submit("f", inside(GPU=1), fresh=True, max_calls=1)
    assert not w.warnings
    explanation = w.scheduler.explain(task.task_id)
    assert (
        explanation is not None and "waits for placement group group, which is not placed yet" in explanation.sentence
    )
    w.returns(fill[0])
    w.dies(w.stopping()[0])
    w.ready()
    assert w.is_sent(task)


def refused(w: World, bundles: list[Bundle], strategy: str = "PACK") -> ev.GroupRequested:
    group = GroupRequested(b"g", "group", bundles, strategy, 1, refuse_infeasible=True)
    w.notify(group)
    return group


def test_a_group_that_can_never_be_placed_is_refused_where_that_is_an_error() -> None:
    w = cluster()
    refused(w, [demand(GPU=2), demand(GPU=3)])
    assert w.refusals[b"g"] == ("placement group group cannot be placed here: any of the 3 nodes has 2 GPUs, not 3")
    assert not w.warnings
    task = w.submit("f", inside(GPU=2), refuse_infeasible=True)
    assert w.outcomes[task.task_id] == "unschedulable"


def test_a_refused_group_is_placed_when_a_node_joins_that_holds_it() -> None:
    w = cluster()
    refused(w, [demand(GPU=3)])
    patient = w.submit("patient", inside(GPU=1))
    w.add_node(node("n3", 4, CPU=4))
    assert w.groups[b"g"] == "CREATED"
    group = w.scheduler.group_record(b"g")
    assert group is not None
    assert not group.refused
    w.ready()
    assert w.is_sent(patient)


def test_a_group_that_lost_its_only_node_is_refused_with_those_who_wait_for_it() -> None:
    w = cluster()
    w.add_node(node("n3", 4, CPU=4))
    refused(w, [demand(GPU=4)])
    assert w.groups[b"g"] == "CREATED"
    holds = w.submit("holds", inside(GPU=4), fresh=True, refuse_infeasible=True)
    waits = w.submit("waits", inside(GPU=4), fresh=True, refuse_infeasible=True)
    w.ready()
    assert w.is_sent(holds)
    w.notify(ev.NodeRemoved(b"n3"))
    assert "cannot be placed here" in w.refusals[b"g"]
    assert w.outcomes[waits.task_id] == "unschedulable"


def test_removal_ends_what_is_inside_and_gives_the_devices_back_with_the_processes() -> None:
    w = cluster()
    ask(w, [demand(CPU=1, GPU=2)])
    task = w.submit("task", inside(CPU=1, GPU=1), fresh=True)
    actor = w.actor("A", inside(GPU=1), lasting=None)
    waiting = w.submit("waiting", inside(CPU=1, GPU=1))
    w.ready()
    w.returns(actor)
    w.notify(ev.GroupRemoveRequested(b"g"))
    assert w.groups[b"g"] == "REMOVED"
    assert w.outcomes[task.task_id] == w.outcomes[waiting.task_id] == "placement group removed"
    assert w.actors[b"a"] == "DEAD"
    assert w.scheduler.node_available(b"head")["GPU"] == 0
    for worker in w.stopping():
        w.dies(worker)
    assert w.scheduler.node_available(b"head") == w.scheduler.node_totals(b"head")
    late = w.submit("late", inside(CPU=1))
    assert w.outcomes[late.task_id] == "placement group removed"


def test_who_waits_hears_of_an_actor_in_a_group_and_not_of_its_constructor_that_has_ended() -> None:
    w = World(node("head", 2, CPU=4))
    ask(w, [demand(CPU=1, GPU=1)])
    actor = w.actor("Keeper", inside(0, GPU=1), lasting=None)
    w.ready()
    w.returns(actor, after_s=5.0)
    w.time_passes(5.0)
    explanation = w.scheduler.explain(w.gpu_task("waits", 2).task_id, w.now)
    assert explanation is not None and "actor Keeper on GPU 0" in explanation.sentence
    assert "Keeper.__init__" not in explanation.sentence and "ending" not in explanation.sentence


def test_bundles_of_a_lost_node_are_placed_anew() -> None:
    w = cluster()
    assert ask(w, [demand(CPU=1)] * 2, "STRICT_SPREAD") == ["head", "n1"]
    task = w.submit("f", inside(1, CPU=1), retries_left=1)
    w.ready()
    w.notify(ev.NodeRemoved(b"n1"))
    assert w.groups[b"g"] == "CREATED"
    w.ready()
    assert w.node_of(task) == "n2"


def test_a_group_of_an_ended_job_goes_with_it() -> None:
    w = cluster()
    ask(w, [demand(GPU=2)])
    w.notify(ev.JobEnded(1))
    assert w.groups[b"g"] == "REMOVED"
    assert w.scheduler.node_available(b"head") == w.scheduler.node_totals(b"head")


def test_half_a_device_in_a_bundle_is_half_a_device() -> None:
    w = cluster()
    ask(w, [demand(GPU=0.5), demand(GPU=0.5)], "STRICT_PACK")
    half, whole = w.submit("half", inside(0, GPU=0.5)), w.submit("whole", inside(0, GPU=1))
    w.ready()
    assert w.devices_of(half) == {"GPU": [(0, 5000)]}
    assert not w.is_sent(whole)
    rows = w.scheduler.device_holders(b"head")
    assert [(row.index, row.amount, type(row.held_by).__name__) for row in rows] == [
        (0, 5000, "TaskRecord"),
        (0, 5000, "GroupRecord"),
    ]
