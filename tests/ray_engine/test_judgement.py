"""What a demand is judged by: the nodes that there are, and what the cluster's autoscaler starts or may add."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray")

from nbaccel.handles.options import demand_of_task, task_options
from nbaccel.ray_engine.rays import import_shipped
from nbaccel.ray_engine.reports import planning
from nbaccel.ray_engine.submission.options_for_ray import Choosing
from nbaccel.views.snapshot import NodeRow, Runtime, Snapshot

MIRRORED = "node_" + "5f" * 28


@pytest.fixture
def tables() -> Any:
    import_shipped()
    return importlib.import_module("nbaccel_in_ray.tables")


class Cluster:
    """One node with 4 CPUs, beside an autoscaler that does not say what it may add."""

    def __init__(self, *, scales: bool) -> None:
        self._scales = scales

    def take(self, *, metrics: bool) -> Snapshot:
        resources = {"CPU": 4.0}
        node = NodeRow("5f" * 28, "head", True, True, resources, resources)
        return Snapshot(Runtime("ray", "0", "3", pid=1), nodes=[node])

    def autoscaler(self) -> dict[str, Any]:
        return {"scales": self._scales, "groups": None}

    def in_fractions(self, options: Any) -> Any:
        return options

    def why_no_device_is_large_enough(self, options: Any) -> str:
        return ""


def engine(*, scales: bool, infeasible: str = "warn") -> Choosing:
    cluster = Cluster(scales=scales)
    return Choosing(cluster, cluster, lambda options: "", refuses=infeasible == "raise")


def test_the_first_autoscalers_kinds_are_those_that_run_start_and_did_not_start(tables: Any) -> None:
    report = {
        "active_nodes": {MIRRORED: 1},
        "pending_launches": {"gpu pool": 2},
        "pending_nodes": [["10.0.0.2", "cpu pool", "setting-up"]],
        "failed_nodes": [["10.0.0.3", "old pool"]],
    }
    assert tables.kinds_of_the_first(report) == [MIRRORED, "gpu pool", "cpu pool", "old pool"]
    assert tables.kinds_of_the_first({}) == []


def test_the_second_autoscalers_kinds_are_the_same(tables: Any) -> None:
    nothing: list[Any] = []
    pending = [SimpleNamespace(ray_node_type_name="gpu pool")]
    status = SimpleNamespace(
        active_nodes=[SimpleNamespace(ray_node_type_name="")], idle_nodes=nothing, pending_launches=pending,
        pending_nodes=nothing, failed_launches=nothing, failed_nodes=nothing,
    )  # fmt: skip
    assert tables.kinds_of_the_second(status) == ["gpu pool"]


def test_a_kind_that_begins_like_a_mirrored_one_is_a_kind(tables: Any) -> None:
    assert tables._MIRRORED.fullmatch(MIRRORED) and not tables._MIRRORED.fullmatch("node_gpu")


def test_a_fallback_is_not_taken_while_the_autoscaler_may_add_what_was_asked_first() -> None:
    options = task_options(num_gpus=1, fallback="cpu")
    fixed = engine(scales=False).choices(options, demand_of_task)
    assert [choice.label for choice in fixed.left] == ["cpu"]
    growing = engine(scales=True).choices(options, demand_of_task)
    assert [choice.label for choice in growing.left] == [""] and not growing.never
    assert "an autoscaler, which may add such a node" in growing.busy


def test_an_error_instead_of_waiting_has_the_same_judgement() -> None:
    options = task_options(num_gpus=1)
    assert "cannot be placed" in engine(scales=False, infeasible="raise").choices(options, demand_of_task).never
    assert engine(scales=True, infeasible="raise").choices(options, demand_of_task).never == ""
    assert planning.addable({"scales": True, "groups": None}, {"GPU": 1.0})[0] == "unknown"
