"""RayClusters for the tests of rehearsals."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from nbaccel.machines.kuberay.manifest import ClusterPlan, make_manifest, read_group

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="the program openssl is missing")


def manifest(*lines: str, **options: Any) -> dict[str, Any]:
    """A RayCluster `c` with these GPU groups."""
    groups = tuple(read_group(line, gpus=True) for line in lines or ("cpu=1,memory=1Gi,max=2",))
    return make_manifest(ClusterPlan(name="c", groups=groups, **options))
