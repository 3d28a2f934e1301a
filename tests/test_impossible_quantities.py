"""Quantities that nothing can have are refused where they are given, with the limit, and never wait or overflow."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy
import pytest

import nbaccel
from nbaccel import tune
from nbaccel.autoscaler import bundles_of, sdk
from nbaccel.cluster_utils import Cluster
from nbaccel.handles.options import actor_options, init_options, task_options
from nbaccel.train import ScalingConfig
from nbaccel.util.placement_group import placement_group

MOST = "cannot be more than 100,000,000,000,000"
TOO_MUCH = [1e300, 1e308, 10**30, 2**63, 2**53, 1e15, numpy.int64(2**63 - 1), 10**400, 10**5_000]
NO_NUMBERS = [float("inf"), float("-inf"), float("nan"), numpy.float64("nan")]
NEGATIVE = [-1, -0.5, -1e300, -(10**30)]

QUANTITIES: dict[str, Callable[[Any], object]] = {
    "num_cpus of a task": lambda amount: task_options(num_cpus=amount),
    "num_gpus of a task": lambda amount: task_options(num_gpus=amount),
    "memory of a task": lambda amount: task_options(memory=amount),
    "resources of a task": lambda amount: task_options(resources={"x": amount}),
    "num_cpus of an actor": lambda amount: actor_options(num_cpus=amount),
    "num_gpus of an actor": lambda amount: actor_options(num_gpus=amount),
    "resources of an actor": lambda amount: actor_options(resources={"x": amount}),
    "num_cpus of init": lambda amount: init_options(num_cpus=amount),
    "num_gpus of init": lambda amount: init_options(num_gpus=amount),
    "resources of init": lambda amount: init_options(resources={"x": amount}),
    "a bundle": lambda amount: placement_group([{"CPU": 1}, {"GPU": amount}]),
    "a bundle's memory": lambda amount: placement_group([{"memory": amount}]),
    "a rank": lambda amount: ScalingConfig(num_workers=2, resources_per_worker={"x": amount}),
    "a trial": lambda amount: tune.with_resources(print, {"cpu": amount}),
    "a trial's memory": lambda amount: tune.with_resources(print, {"memory": amount}),
    "a trial's own resource": lambda amount: tune.with_resources(print, {"custom_resources": {"x": amount}}),
    "a trial's bundle": lambda amount: tune.PlacementGroupFactory([{"CPU": 1}, {"CPU": amount}]),
    "an executor": lambda amount: nbaccel.Executor(num_cpus=amount),
    "requested bundles": lambda amount: sdk.checked_bundles([{"CPU": amount}]),
}
SIZES: dict[str, Callable[[Any], object]] = {
    "gpu_memory": lambda size: task_options(gpu_memory=size),
    "object_store_memory": lambda size: init_options(object_store_memory=size),
    "_memory": lambda size: init_options(_memory=size),
    "memory of a node": lambda size: Cluster().add_node(memory=size),
    "memory of a node type": lambda size: init_options(node_types={"a": {"memory": size}}),
}
each_quantity = pytest.mark.parametrize("give", QUANTITIES.values(), ids=QUANTITIES)
each_size = pytest.mark.parametrize("give", SIZES.values(), ids=SIZES)


@pytest.fixture(autouse=True)
def _no_cluster() -> Any:
    """None of these starts one."""
    assert not nbaccel.is_initialized()
    yield
    assert not nbaccel.is_initialized()


def short(amount: Any) -> str:
    return f"{type(amount).__name__} {amount:.0e}" if abs(amount) < 1e300 else f"large {type(amount).__name__}"


@each_quantity
@pytest.mark.parametrize("amount", TOO_MUCH, ids=short)
def test_too_much_is_refused_with_the_most(give: Callable[[Any], object], amount: Any) -> None:
    with pytest.raises(ValueError, match=MOST):
        give(amount)


@each_quantity
@pytest.mark.parametrize("amount", NO_NUMBERS, ids=range(4))
def test_what_is_no_finite_number_is_refused(give: Callable[[Any], object], amount: Any) -> None:
    with pytest.raises(ValueError, match=r"must be a finite number|is not a quantity|must be a number from 0"):
        give(amount)


@each_quantity
@pytest.mark.parametrize("amount", NEGATIVE, ids=range(4))
def test_less_than_nothing_is_refused(give: Callable[[Any], object], amount: Any) -> None:
    with pytest.raises(ValueError, match=r"cannot be negative|is not a quantity|must be a number from 0"):
        give(amount)


@each_quantity
def test_less_than_is_counted_is_refused_and_not_taken_for_nothing(give: Callable[[Any], object]) -> None:
    with pytest.raises(ValueError, match=r"cannot go beyond 0\.0001"):
        give(1e-9)


@each_size
@pytest.mark.parametrize("size", [*TOO_MUCH, "200TB", "9" * 400 + "GiB", "9" * 5_000], ids=range(12))
def test_a_size_that_no_machine_has_is_refused_with_the_most(give: Callable[[Any], object], size: Any) -> None:
    with pytest.raises(ValueError, match=f"{MOST} bytes"):
        give(size)


@each_size
@pytest.mark.parametrize("size", [*NO_NUMBERS, *NEGATIVE, Fraction(10**400)], ids=range(9))
def test_a_size_that_is_none_is_refused(give: Callable[[Any], object], size: Any) -> None:
    with pytest.raises(ValueError, match="must be finite and not negative"):
        give(size)


@each_size
def test_a_part_of_a_byte_is_refused_and_not_taken_for_nothing(give: Callable[[Any], object]) -> None:
    with pytest.raises(ValueError, match="at least one"):
        give(0.5)


@pytest.mark.parametrize("amount", [Fraction(10**400), -(10**5_000)], ids=range(2))
def test_numbers_that_no_float_holds_or_python_does_not_write_out_are_refused(amount: Any) -> None:
    with pytest.raises(
        ValueError, match=r"must be a finite number, but got inf|negative, but got a whole number of 5,001"
    ):
        task_options(num_cpus=amount)


def test_the_most_itself_can_be_asked_for() -> None:
    assert task_options(num_cpus=10**14, memory=10**14, resources={"x": 1e14}).num_cpus == 10**14
    assert init_options(object_store_memory="100TB").object_store_memory == 10**14
    assert ScalingConfig(num_workers=1_000_000).max_workers == 1_000_000


@pytest.mark.parametrize("count", [1_000_001, 10**30, (1, 10**5_000)], ids=range(3))
def test_a_run_of_too_many_workers_is_refused_with_the_most(count: Any) -> None:
    with pytest.raises(ValueError, match="1,000,000 workers at most"):
        ScalingConfig(num_workers=count)


@pytest.mark.parametrize("count", [100_001, 10**14, 10**5_000], ids=range(3))
def test_room_for_too_many_bundles_is_refused_with_the_most(count: int) -> None:
    with pytest.raises(ValueError, match="cannot be more than 100,000"):
        bundles_of(num_gpus=count)
    with pytest.raises(ValueError, match="cannot be more than 100,000"):
        sdk.check_count("num_cpus", count)
