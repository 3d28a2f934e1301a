"""A Ray of several nodes on this machine: what cluster_utils promises, kept by Ray's own Cluster."""

from __future__ import annotations

import time
from typing import Any

from ray.cluster_utils import Cluster

from nbaccel.ray_engine.startup import starting

_NOTICED_WITHIN_S = 60.0
_WAIT_S = 0.05


class RayNodes:
    """Nodes by their ids, of one cluster; Ray ends them with this process."""

    def __init__(self) -> None:
        self._cluster: Any = Cluster()
        self._nodes: dict[str, Any] = {}

    @property
    def address(self) -> str | None:
        address: str | None = self._cluster.address
        return address

    @property
    def session(self) -> str:
        return str(self._cluster.head_node.session_name)

    def start_head(self, given: dict[str, Any]) -> str:
        return self._started({**given, "include_dashboard": False, "dashboard_port": None})  # None: one that is free

    def add(self, given: dict[str, Any]) -> str:
        return self._started(given)

    def _started(self, given: dict[str, Any]) -> str:
        node = starting.patiently(
            lambda: self._cluster.add_node(**given),
            lambda: None,  # started processes of the node end with this process
        )
        self._nodes[node.node_id] = node
        return str(node.node_id)

    def remove(self, node_id: str, *, graceful: bool) -> None:
        """Ray learns at once of a node that could say so, of a killed one some seconds later."""
        self._cluster.remove_node(self._nodes.pop(node_id), allow_graceful=graceful)
        deadline = time.monotonic() + _NOTICED_WITHIN_S
        while graceful and node_id in self.alive() and time.monotonic() < deadline:
            time.sleep(_WAIT_S)

    def alive(self) -> set[str]:
        if self.address is None:
            return set()
        return {row["NodeID"] for row in self._cluster.global_state.node_table() if row["Alive"]}

    def are_alive(self) -> bool:
        return self.address is not None and bool(self._cluster.remaining_processes_alive())

    def stop(self) -> None:
        self._nodes.clear()
        self._cluster.shutdown()
