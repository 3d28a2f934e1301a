"""Placement groups and places: bundles, strategies, what runs in them, labels and nodes."""

from __future__ import annotations

import pytest

import nbaccel
from nbaccel.util.placement_group import (
    get_current_placement_group,
    get_placement_group,
    placement_group_table,
    remove_placement_group,
    why_never_placed,
)
from nbaccel.util.scheduling_strategies import NodeAffinitySchedulingStrategy, PlacementGroupSchedulingStrategy
from tests.rig import wait_until


@nbaccel.remote
def devices():
    return nbaccel.get_runtime_context().get_accelerator_ids()["GPU"]


@pytest.mark.parametrize("strategy", ["PACK", "SPREAD", "STRICT_PACK"])
def test_a_group_is_placed_by_every_strategy_that_one_node_can_keep(nb, grouped, strategy):
    group = grouped([{"CPU": 1}, {"CPU": 1, "GPU": 1}], strategy=strategy)
    assert nb.get(group.ready(), timeout=60) == group
    assert group.wait(60)
    assert group.bundle_count == 2
    assert placement_group_table(group)["strategy"] == strategy


def test_bundles_on_nodes_of_their_own_wait_for_a_second_node(nb, grouped):
    group = grouped([{"CPU": 1}] * 2, strategy="STRICT_SPREAD")
    assert not group.wait(0.3)


def test_a_group_that_could_never_be_placed_is_judged_without_being_made(nb):
    before = placement_group_table()
    assert why_never_placed([{"CPU": 1}] * 2, "STRICT_SPREAD") == "its 2 bundles do not fit together (STRICT_SPREAD)"
    assert why_never_placed([{"CPU": 3}] * 2, "PACK") == "its 2 bundles do not fit together (PACK)"
    assert "CPU" in why_never_placed([{"CPU": 1}, {"CPU": 1_000}], "PACK")
    assert why_never_placed([{"CPU": 1}, {"CPU": 1, "GPU": 1}], "STRICT_PACK") == ""
    assert placement_group_table() == before


def test_a_task_runs_on_the_devices_of_its_bundle(nb, grouped):
    group = grouped([{"CPU": 1, "GPU": 1}, {"CPU": 1, "GPU": 1}])
    nb.get(group.ready(), timeout=60)
    asked = [
        devices.options(
            num_gpus=1, scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=index)
        ).remote()
        for index in (0, 1)
    ]
    first, second = nb.get(asked)
    assert (len(first), len(second)) == (1, 1)
    assert first != second


@nbaccel.remote
class Member:
    def devices(self):
        return nbaccel.get_runtime_context().get_accelerator_ids()["GPU"]


def test_who_names_no_bundle_leaves_the_device_to_who_asks_for_it(nb, grouped):
    group = grouped([{"CPU": 1, "GPU": 1}, {"CPU": 1}], strategy="STRICT_PACK")
    nb.get(group.ready(), timeout=60)
    inside = PlacementGroupSchedulingStrategy(group)
    plain = Member.options(num_cpus=1, scheduling_strategy=inside).remote()
    assert nb.get(plain.devices.remote(), timeout=60) == []
    with_device = Member.options(num_cpus=1, num_gpus=1, scheduling_strategy=inside).remote()
    assert len(nb.get(with_device.devices.remote(), timeout=60)) == 1


def test_children_run_in_the_group_where_it_is_asked(nb, grouped):
    @nb.remote
    def child():
        group = get_current_placement_group()
        return None if group is None else group.id.hex()

    @nb.remote
    def parent():
        return nbaccel.get(child.remote())

    group = grouped([{"CPU": 2}])
    nb.get(group.ready(), timeout=60)
    captured = PlacementGroupSchedulingStrategy(group, placement_group_capture_child_tasks=True)
    assert nb.get(parent.options(scheduling_strategy=captured).remote()) == group.id.hex()
    free = PlacementGroupSchedulingStrategy(group)
    assert nb.get(parent.options(scheduling_strategy=free).remote()) is None


def test_a_group_is_found_by_its_name_until_it_is_removed(nb, grouped):
    group = grouped([{"CPU": 1}], name="found by name")
    nb.get(group.ready(), timeout=60)
    assert get_placement_group("found by name").id == group.id
    (row,) = [each for each in nb.snapshot().groups if each.group_id == group.id.hex()]
    assert (row.name, row.state, row.bundles) == ("found by name", "CREATED", [{"CPU": 1}])
    assert row.bundle_nodes == [nb.get_runtime_context().get_node_id()]
    remove_placement_group(group)
    wait_until(lambda: placement_group_table(group)["state"] == "REMOVED")
    with pytest.raises(ValueError, match="found by name"):
        get_placement_group("found by name")


def test_a_bundle_that_no_demand_fits_is_refused_at_once(nb, grouped):
    group = grouped([{"CPU": 1}])
    with pytest.raises(ValueError):
        devices.options(num_gpus=1, scheduling_strategy=PlacementGroupSchedulingStrategy(group)).remote()
    with pytest.raises(ValueError):
        grouped([])
    with pytest.raises(ValueError):
        grouped([{"CPU": 1}], strategy="NEAR")


def test_a_node_that_is_not_here_is_told(nb):
    nowhere = NodeAffinitySchedulingStrategy("ab" * 28, soft=False)
    with pytest.raises(nb.exceptions.TaskUnschedulableError):
        nb.get(devices.options(scheduling_strategy=nowhere).remote(), timeout=60)
    perhaps = NodeAffinitySchedulingStrategy("ab" * 28, soft=True)
    assert nb.get(devices.options(scheduling_strategy=perhaps).remote(), timeout=60) == []


def test_it_is_said_why_a_group_waits_and_who_holds_what_it_asks_for(nb, grouped):
    first = grouped([{"GPU": 1}] * 2, name="first")
    nb.get(first.ready(), timeout=60)
    assert nb.explain(first).sentence == "placement group first is placed."
    second = grouped([{"GPU": 1}], name="second")
    explained = wait_until(lambda: found if (found := nb.explain(second)).holders else None)  # as Ray's books come in
    assert "second waits: bundle 0 asks for 1 GPU. Both GPUs are busy: placement group first " in explained.sentence
    assert explained.ever
    assert {holder.group_id for holder in explained.holders} == {first.id.hex()}
    never = grouped([{"CPU": 1}, {"GPU": 16}], name="never")
    assert "cannot be placed" in nb.explain(never).sentence
    assert nb.explain(never).ever is False
    assert {each.name for each in nb.explain()} >= {"placement group second", "placement group never"}


def test_a_timeout_has_the_reason_of_the_wait(nb, grouped):
    impossible = devices.options(num_gpus=16).remote()
    with pytest.raises(nb.exceptions.GetTimeoutError, match=r"says why one waits\. devices .*16 GPUs"):
        nb.get([nb.put(1), impossible], timeout=2)
    never = grouped([{"GPU": 16}], name="never").ready()
    with pytest.raises(nb.exceptions.GetTimeoutError, match="placement group never cannot be placed"):
        nb.get(never, timeout=2)
    assert "placement group never cannot be placed" in nb.explain(never).sentence
    nb.cancel(impossible)


def test_a_task_that_waits_for_actors_who_hold_everything_is_told_until_when(nb):
    @nb.remote(num_gpus=2)
    class Holder:
        def there(self):
            return True

    holder = Holder.remote()
    assert nb.get(holder.there.remote())
    waits = devices.options(num_gpus=1).remote()
    explained = wait_until(lambda: found if (found := nb.explain(waits)).kept else None)  # as reports come in
    assert explained.holders
    assert not explained.deadlock
    assert "until its last handle is dropped (del)" in explained.sentence
    del holder
    assert len(nb.get(waits, timeout=60)) == 1


def test_the_table_says_that_a_group_can_never_be_placed(nb, grouped):
    group = grouped([{"CPU": 1_000}])
    wait_until(lambda: placement_group_table(group)["stats"]["scheduling_state"] == "INFEASIBLE")
