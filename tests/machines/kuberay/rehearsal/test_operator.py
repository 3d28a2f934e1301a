"""Pods come until there are as many as the manifest says now, and those go that the autoscaler names."""

from __future__ import annotations

from typing import Any

from nbaccel.machines.kuberay.rehearsal.play import missing_and_superfluous
from nbaccel.machines.kuberay.rehearsal.played_cluster import Pod, PodState
from tests.machines.kuberay.rehearsal.manifests import manifest


def changes(cluster: dict[str, Any], *pods: Pod, **fields: Any) -> tuple[list[str], list[str]]:
    """The groups of the pods that come, and the names of those that leave, once the group has these fields."""
    cluster["spec"]["workerGroupSpecs"][0].update(fields)
    found = missing_and_superfluous(cluster, list(pods))
    return found.come, [pod.name for pod in found.leave]


def pod(name: str, state: PodState = PodState.RUNNING) -> Pod:
    return Pod(name, "gpu", "127.0.0.9", state)


def test_missing_pods_come() -> None:
    assert changes(manifest(), replicas=2) == (["gpu", "gpu"], [])
    assert changes(manifest(), pod("a"), replicas=2) == (["gpu"], [])
    assert changes(manifest(), pod("a"), pod("b", PodState.WAITING), replicas=2) == ([], [])


def test_a_group_stays_between_its_least_and_its_most() -> None:
    assert changes(manifest("max=3"), replicas=9) == (["gpu"] * 3, [])
    assert changes(manifest("min=2,max=3"), replicas=0) == (["gpu"] * 2, [])


def test_a_replica_of_several_hosts_is_as_many_pods() -> None:
    assert changes(manifest("max=2,hosts=2"), replicas=1) == (["gpu", "gpu"], [])


def test_named_pods_leave_once() -> None:
    leaving = {"workersToDelete": ["a", "gone"]}
    assert changes(manifest(), pod("a"), pod("b"), replicas=1, scaleStrategy=leaving) == ([], ["a"])
    assert changes(manifest(), pod("a", PodState.LEAVING), pod("b"), replicas=1, scaleStrategy=leaving) == ([], [])


def test_pods_that_are_too_many_wait_for_the_autoscaler_to_name_them() -> None:
    assert changes(manifest(), pod("a"), pod("b"), replicas=1) == ([], [])
    assert changes(manifest(autoscaling=False), pod("a"), pod("b"), replicas=1) == ([], ["b"])


def test_a_suspended_group_has_no_pods() -> None:
    assert changes(manifest("min=2,max=2"), pod("a"), suspend=True) == ([], ["a"])
