"""Decides which pods of a played RayCluster come and go, as KubeRay's operator does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nbaccel.machines.kuberay.pod_groups import PodGroup, whole, worker_groups_of
from nbaccel.machines.kuberay.rehearsal.played_cluster import Pod, PodState


@dataclass(slots=True)
class Changes:
    """What has to happen."""

    come: list[str] = field(default_factory=list)  # the group of each pod that is missing
    leave: list[Pod] = field(default_factory=list)


def missing_and_superfluous(cluster: dict[str, Any], pods: list[Pod]) -> Changes:
    """The pods that are missing, and those that have to go."""
    spec, changes = cluster["spec"], Changes()
    grows = bool(spec.get("enableInTreeAutoscaling"))
    for group in worker_groups_of(spec):
        name = str(group.fields.get("groupName"))
        mine = [pod for pod in pods if pod.group == name and pod.state is not PodState.LEAVING]
        named = set((group.fields.get("scaleStrategy") or {}).get("workersToDelete") or [])
        changes.leave += [pod for pod in mine if pod.name in named]
        staying = [pod for pod in mine if pod.name not in named]
        lacking = wanted_pods(group) - len(staying)
        changes.come += [name] * lacking
        if lacking < 0 and not grows:  # the autoscaler names those that go, which hold no work
            changes.leave += staying[lacking:]
    return changes


def wanted_pods(group: PodGroup) -> int:
    """How many pods the group is to have now."""
    if group.fields.get("suspend"):
        return 0
    least, most = whole(group.fields.get("minReplicas"), 0), whole(group.fields.get("maxReplicas"), 2**31 - 1)
    replicas = max(least, min(whole(group.fields.get("replicas"), 0), most))
    return replicas * whole(group.fields.get("numOfHosts"), 1)
