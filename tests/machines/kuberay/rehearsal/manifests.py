"""RayClusters for the tests of rehearsals."""

from __future__ import annotations

from typing import Any

from nbaccel.machines.kuberay.manifest import ClusterPlan, make_manifest
from nbaccel.machines.kuberay.worker_groups import read_group


def manifest(*lines: str, **options: Any) -> dict[str, Any]:
    """A RayCluster `c` with these GPU groups."""
    groups = tuple(read_group(line, gpus=True) for line in lines or ("cpu=1,memory=1Gi,max=2",))
    return make_manifest(ClusterPlan(name="c", groups=groups, **options))
