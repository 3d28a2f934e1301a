"""What the debug engine says of choices that were taken, and of requests that can never be met."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import nbaccel
from nbaccel.exceptions import ActorUnschedulableError, TaskUnschedulableError
from nbaccel.util.placement_group import placement_group
from nbaccel.util.scheduling_strategies import PlacementGroupSchedulingStrategy


@pytest.fixture
def refusing() -> Iterator[None]:
    nbaccel.init(engine="debug", num_cpus=2, num_gpus=1, infeasible="raise")
    yield
    nbaccel.shutdown()


@pytest.fixture
def without_gpus() -> Iterator[None]:
    nbaccel.init(engine="debug", num_cpus=2, num_gpus=0)
    yield
    nbaccel.shutdown()


@nbaccel.remote(num_gpus=2)
def two() -> str:
    return "done"


@nbaccel.remote(num_gpus=2)
class Two:
    def assigned(self) -> dict[str, float]:
        return nbaccel.get_runtime_context().get_assigned_resources()


@pytest.mark.usefixtures("refusing")
def test_what_can_never_be_met_is_an_error_where_that_is_wanted() -> None:
    with pytest.raises(TaskUnschedulableError, match="this machine has 1 GPU, not 2"):
        nbaccel.get(two.remote())
    with pytest.raises(ActorUnschedulableError, match="this machine has 1 GPU, not 2"):
        nbaccel.get(Two.remote().assigned.remote())
    assert nbaccel.get(two.options(fallback="cpu").remote()) == "done"


@pytest.mark.usefixtures("refusing")
def test_so_is_a_placement_group() -> None:
    group = placement_group([{"GPU": 2}])
    with pytest.raises(TaskUnschedulableError, match="can never be placed here"):
        nbaccel.get(group.ready())
    inside = two.options(num_cpus=0, scheduling_strategy=PlacementGroupSchedulingStrategy(group))
    with pytest.raises(TaskUnschedulableError, match="can never be placed here"):
        nbaccel.get(inside.remote())


@pytest.mark.usefixtures("without_gpus")
def test_the_snapshot_says_which_choice_a_task_and_an_actor_took_and_why() -> None:
    assert nbaccel.get(two.options(fallback="cpu").remote()) == "done"
    actor = Two.options(fallback="cpu").remote()
    assert nbaccel.get(actor.assigned.remote()) == {"CPU": 1.0}
    picture = nbaccel.snapshot()
    task = next(row for row in picture.tasks if row.name == "two")
    kept = next(row for row in picture.actors if row.class_name == "Two")
    for row in (task, kept):
        assert row.choice == "cpu"
        assert "no GPU" in row.choice_why
