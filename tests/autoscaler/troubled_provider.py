"""A provider of Ray's with bad days: nodes of the type "broken" fail, and the call for a "slow" one hangs for long."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ray.autoscaler._private.fake_multi_node.node_provider import FakeMultiNodeProvider

RELEASE = "release"  # a pipe in the cluster's folder: who writes to it lets the hanging call go on
QUOTA = "no quota for broken machines"


class TroubledProvider(FakeMultiNodeProvider):
    """As Ray's fake provider, which starts nodes here, for all other types."""

    def create_node_with_resources_and_labels(
        self, node_config: Any, tags: Any, count: int, resources: Any, labels: Any
    ) -> None:
        kind = tags["ray-user-node-type"]
        if kind == "broken":
            raise RuntimeError(QUOTA)
        if kind == "slow":
            Path(self.provider_config["folder"], RELEASE).read_bytes()
        super().create_node_with_resources_and_labels(node_config, tags, count, resources, labels)
