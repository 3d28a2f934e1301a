"""Placement groups on one machine: arguments, readiness, bundles, capture, removal, table."""

import pytest

import nbaccel
from nbaccel import exceptions
from nbaccel.util.placement_group import (
    PlacementGroup,
    get_current_placement_group,
    get_placement_group,
    placement_group,
    placement_group_table,
    remove_placement_group,
)
from nbaccel.util.scheduling_strategies import PlacementGroupSchedulingStrategy
from tests.rig import Gate, wait_until


@pytest.fixture
def group():
    group = placement_group([{"CPU": 1}, {"CPU": 1, "GPU": 1}], name="ours")
    nbaccel.get(group.ready())
    yield group
    remove_placement_group(group)


def inside(group, index=-1, capture=None):
    return {"scheduling_strategy": PlacementGroupSchedulingStrategy(group, index, capture)}


@nbaccel.remote
def where():
    context = nbaccel.get_runtime_context()
    return context.get_placement_group_id(), context.should_capture_child_tasks_in_placement_group


@nbaccel.remote
class Resident:
    def where(self):
        return nbaccel.get_runtime_context().get_placement_group_id()

    def wait(self, gate):
        nbaccel.get(gate.wait.remote())


@pytest.mark.parametrize(
    ("bundles", "words"),
    [
        ([], "empty list"),
        ([{}], "only 0 values"),
        ([{"CPU": 0}], "only 0 values"),
        ({"CPU": 1}, "must be a list"),
        ([{1: 1}], "non-empty list of resource dictionaries"),
        ([{"CPU": -1}], "quantity of resource CPU cannot be negative"),
    ],
)
def test_bundles_that_cannot_be_meant_are_refused(bundles, words):
    with pytest.raises(ValueError, match=words):
        placement_group(bundles)


def test_other_arguments_are_checked_too():
    with pytest.raises(ValueError, match="STRICT_PACK"):
        placement_group([{"CPU": 1}], strategy="NOPE")
    with pytest.raises(ValueError, match="lifetime"):
        placement_group([{"CPU": 1}], lifetime="for ever")
    with pytest.raises(ValueError, match="bundle_label_selector"):
        placement_group([{"CPU": 1}], bundle_label_selector=[{}, {}])


def test_ready_is_the_group_itself(group):
    assert nbaccel.get(group.ready()) == group
    assert group.wait(90) is True
    assert group.bundle_specs == [{"CPU": 1.0}, {"CPU": 1.0, "GPU": 1.0}] and group.bundle_count == 2
    assert not group.is_empty and PlacementGroup.empty().is_empty


def test_a_group_is_found_by_its_name(group):
    assert get_placement_group("ours") == group
    assert get_placement_group("ours").bundle_specs == group.bundle_specs
    with pytest.raises(ValueError, match="theirs"):
        get_placement_group("theirs")
    with pytest.raises(exceptions.RaySystemError, match="ours"):
        placement_group([{"CPU": 1}], name="ours")


def test_the_table_tells_state_bundles_and_nodes(group):
    row = placement_group_table(group)
    node_id = nbaccel.nodes()[0]["NodeID"]
    assert (row["state"], row["strategy"], row["name"]) == ("CREATED", "PACK", "ours")
    assert row["bundles_to_node_id"] == {0: node_id, 1: node_id}
    assert placement_group_table()[group.id.hex()] == row


def test_work_is_placed_in_its_bundle(group):
    assert nbaccel.get(where.options(**inside(group, 0)).remote()) == (group.id.hex(), False)
    assert nbaccel.get(where.remote()) == (None, False)
    assert nbaccel.get(Resident.options(num_cpus=1, **inside(group)).remote().where.remote()) == group.id.hex()


def test_gpu_bundles_have_fixed_devices(group):
    @nbaccel.remote(num_gpus=1)
    def ids():
        return nbaccel.get_gpu_ids()

    first = nbaccel.get(ids.options(**inside(group, 1)).remote())
    assert nbaccel.get(ids.options(**inside(group, 1)).remote()) == first


def test_what_fits_into_no_bundle_is_refused_at_the_call(group):
    with pytest.raises(ValueError, match=r"Cannot schedule where .* cannot fit into any bundles"):
        where.options(num_cpus=2, **inside(group)).remote()
    with pytest.raises(ValueError, match="cannot fit"):
        where.options(num_gpus=1, **inside(group, 0)).remote()
    with pytest.raises(ValueError, match="bundle index 5 is invalid"):
        where.options(**inside(group, 5)).remote()


def test_children_are_captured_only_when_asked(group):
    @nbaccel.remote(num_cpus=0)
    def parent():
        outside = where.options(scheduling_strategy="DEFAULT")
        actor = Resident.remote()
        return nbaccel.get([where.remote(), outside.remote(), actor.where.remote()]), get_current_placement_group()

    captured, current = nbaccel.get(parent.options(**inside(group, capture=True)).remote())
    assert captured == [(group.id.hex(), True), (None, False), group.id.hex()] and current == group
    free, current = nbaccel.get(parent.options(**inside(group)).remote())
    assert free == [(None, False), (None, False), None] and current == group
    assert get_current_placement_group() is None


def test_removal_ends_what_is_inside():
    group = placement_group([{"CPU": 1}, {"CPU": 1}])
    gate = Gate.remote()

    @nbaccel.remote(max_retries=0)
    def hold(gate):
        nbaccel.get(gate.wait.remote())

    task = hold.options(**inside(group, 0)).remote(gate)
    actor = Resident.options(num_cpus=1, **inside(group, 1)).remote()
    call = actor.wait.remote(gate)
    wait_until(lambda: nbaccel.get(gate.arrived.remote()) == 2)
    remove_placement_group(group)
    remove_placement_group(group)
    with pytest.raises(exceptions.TaskPlacementGroupRemoved):
        nbaccel.get(task)
    with pytest.raises(exceptions.ActorDiedError, match="placement group was removed"):
        nbaccel.get(call)
    with pytest.raises(exceptions.TaskPlacementGroupRemoved):
        nbaccel.get(where.options(**inside(group)).remote())
    with pytest.raises(exceptions.TaskPlacementGroupRemoved):
        nbaccel.get(group.ready())
    assert placement_group_table(group)["state"] == "REMOVED"


def test_a_group_that_does_not_fit_waits_and_says_so():
    group = placement_group([{"CPU": 100}])
    assert group.wait(0) is False
    ready = group.ready()
    assert nbaccel.wait([ready], timeout=0) == ([], [ready])
    assert placement_group_table(group)["state"] == "PENDING"
    remove_placement_group(group)
    with pytest.raises(exceptions.TaskPlacementGroupRemoved):
        nbaccel.get(ready)


def test_an_actor_that_waits_in_a_group_that_is_removed_can_never_be_placed():
    group = placement_group([{"CPU": 100}])
    call = Resident.options(num_cpus=1, **inside(group, 0)).remote().wait.remote(None)
    remove_placement_group(group)
    with pytest.raises(exceptions.ActorUnschedulableError, match="placement group was removed"):
        nbaccel.get(call)


def test_a_group_travels_to_tasks(group):
    @nbaccel.remote
    def ready_there(group):
        return nbaccel.get(group.ready()) == group

    assert nbaccel.get(ready_there.remote(group))


def test_what_a_removed_group_held_is_free_again():
    before = nbaccel.cluster_resources()
    wait_until(lambda: nbaccel.available_resources() == before, "what the tests before held to be free")
    group = placement_group([{"CPU": 1, "GPU": 1}])
    nbaccel.get(group.ready())
    assert nbaccel.available_resources()["CPU"] == before["CPU"] - 1
    remove_placement_group(group)
    wait_until(lambda: nbaccel.available_resources() == before)


@pytest.mark.parametrize("ask", [remove_placement_group, placement_group_table])
def test_what_is_no_group_is_refused_in_words(ask):
    with pytest.raises(TypeError, match=r"takes a PlacementGroup.*not 3"):
        ask(3)


def test_a_bundle_of_no_group_is_refused():
    with pytest.raises(ValueError, match="bundle_index=1 names a bundle, but no placement_group"):
        nbaccel.remote(placement_group_bundle_index=1)(len)
    with pytest.raises(TypeError, match="Option placement_group takes a PlacementGroup"):
        nbaccel.remote(placement_group=3)(len)


def test_a_strategy_for_how_nodes_are_wired_is_refused_in_words():
    with pytest.raises(NotImplementedError, match="bundle_label_selector"):
        placement_group([{"CPU": 1}], topology_strategy={"rack": "STRICT_PACK"})
