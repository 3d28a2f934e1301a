"""Virtual nodes: several nodes on one machine, so that scheduling over nodes can be learnt and tested without machines.

>>> cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
>>> node = cluster.add_node(num_cpus=2, num_gpus=4, labels={"zone": "b"})
>>> nbaccel.init(address=cluster.address)
>>> cluster.remove_node(node)           # its workers and its objects are gone, as in a real loss
"""

from __future__ import annotations

import atexit
import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from nbaccel import api, elsewhere, starting
from nbaccel import engine as engines
from nbaccel.handles import option_checks as checks
from nbaccel.views import observing, sessions

cluster_not_supported = False  # Ray's word on the system; virtual nodes run wherever nbaccel does

_NODE_OPTIONS: dict[str, Callable[[str, Any], Any]] = {
    "num_cpus": checks.whole_quantity,
    "num_gpus": checks.whole_quantity,
    "resources": checks.whole_resources,
    "labels": checks.string_dict,
    "memory": checks.size_bytes,
    "object_store_memory": checks.size_bytes,
    "node_name": checks.word,
    "env_vars": checks.string_dict,
}
_RAYS_OWN = {
    "_system_config", "dashboard_agent_listen_port", "dashboard_host", "dashboard_port",
    "external_addresses", "gcs_server_port", "include_dashboard", "include_log_monitor", "log_to_driver",
    "max_worker_port", "metrics_export_port", "min_worker_port", "namespace", "node_ip_address",
    "node_manager_port", "num_redis_shards", "object_manager_port", "object_spilling_directory",
    "plasma_directory", "ray_client_server_port", "redis_address", "redis_max_memory", "redis_password",
    "redis_port", "redis_username", "temp_dir", "worker_port_list",
}  # fmt: skip
_ONE_CPU = {"num_cpus": 1, "num_gpus": 0}  # by default
_WAIT_S = 0.02


class Node:
    """A node of a Cluster."""

    def __init__(self, node_id: str, *, is_head: bool) -> None:
        self.node_id = node_id
        self._is_head = is_head

    @property
    def unique_id(self) -> str:
        return self.node_id

    def is_head(self) -> bool:
        return self._is_head

    def __repr__(self) -> str:
        return f"Node({self.node_id})"


class Cluster:
    """A cluster that this process makes and then joins with `init(address=cluster.address)`.

    engine="local" counts the resources of all nodes in one nbaccel head; engine="ray" starts a Ray cluster on this
    machine whose nodes have processes of their own.
    """

    def __init__(
        self,
        initialize_head: bool = False,
        connect: bool = False,
        head_node_args: dict[str, Any] | None = None,
        shutdown_at_exit: bool = True,
        *,
        engine: str = "local",
    ) -> None:
        self.head_node: Node | None = None
        self.worker_nodes: set[Node] = set()
        self.connected = False
        self._shutdown_at_exit = shutdown_at_exit
        self._nodes: engines.VirtualNodes = LocalNodes() if engine == "local" else engines.virtual_nodes(engine)
        if not initialize_head and connect:
            raise RuntimeError("Cannot connect to uninitialized cluster.")
        if initialize_head:
            self.add_node(**(head_node_args or {}))
            if connect:
                self.connect()

    @property
    def address(self) -> str | None:
        """The address for `init(address=...)`; None until there is a head."""
        return self._nodes.address

    @property
    def gcs_address(self) -> str | None:
        return self.address

    def connect(self, namespace: str | None = None) -> Any:
        """Make this process a driver of the cluster."""
        if self.address is None:
            raise RuntimeError("There is no cluster to connect to yet: add_node() starts its head.")
        context = starting.init(address=self.address, namespace=namespace, ignore_reinit_error=True)
        self.connected = True
        return context

    # ---- nodes

    def add_node(self, wait: bool = True, **node_args: Any) -> Node:
        """Add a node. The first one is the head's node; the devices of the others are logical.

        num_cpus (1 where nothing is said), num_gpus, resources, labels, memory and object_store_memory in bytes,
        node_name, env_vars. Environment variables that were set after the head's start are set on this node, besides
        its env_vars. Raises ValueError, TypeError. Other options of Ray's Cluster (ports, folders, the dashboard) mean
        nothing for virtual nodes.
        """
        unknown = sorted(set(node_args) - set(_NODE_OPTIONS) - _RAYS_OWN)
        if unknown:
            more = checks.did_you_mean(unknown[0], _NODE_OPTIONS)
            raise TypeError(f"add_node() got an unexpected keyword argument {unknown[0]!r}.{more}")
        given = {
            name: check(name, node_args[name])
            for name, check in _NODE_OPTIONS.items()
            if node_args.get(name) is not None
        }
        if self.head_node is None:
            return self._start_head(given)
        node = Node(self._nodes.add(given), is_head=False)
        self.worker_nodes.add(node)
        if wait:
            self.wait_for_nodes()
        return node

    def _start_head(self, given: dict[str, Any]) -> Node:
        self.head_node = Node(self._nodes.start_head({**_ONE_CPU, **given}), is_head=True)
        if self._shutdown_at_exit:
            atexit.register(self.shutdown)
        return self.head_node

    def remove_node(self, node: Node, allow_graceful: bool = True) -> None:
        """Lose a node: its workers are killed, and objects that only it had are lost. Raises ValueError for a node
        that is not in the cluster.

        Removing the head's node ends the cluster; this raises ValueError while this process is joined to it.

        On Ray `allow_graceful=False` kills the node's processes outright; Ray then takes some seconds to notice.
        """
        if node is self.head_node:
            if self._is_joined():
                raise ValueError(
                    "The head's node cannot be removed while this process is joined to it: shut nbaccel or the whole "
                    "cluster down instead."
                )
            self.shutdown()
            return
        if node not in self.worker_nodes:
            raise ValueError(f"{node} is not a node of this cluster, or was removed before.")
        self._nodes.remove(node.node_id, graceful=allow_graceful)
        self.worker_nodes.discard(node)

    def list_all_nodes(self) -> list[Node]:
        head = [self.head_node] if self.head_node is not None else []
        return [*head, *self.worker_nodes]

    def wait_for_nodes(self, timeout: float = 30) -> None:
        """Wait until every node is part of the cluster. Raises TimeoutError."""
        deadline = time.monotonic() + timeout
        wanted = {node.node_id for node in self.list_all_nodes()}
        while True:
            alive = self._nodes.alive()
            if alive == wanted:
                return
            if time.monotonic() > deadline:
                raise TimeoutError(f"Of {len(wanted)} nodes only {len(alive & wanted)} have joined within {timeout} s.")
            time.sleep(_WAIT_S)

    def remaining_processes_alive(self) -> bool:
        """Whether all processes of the cluster are alive, except those of removed nodes."""
        return self._nodes.are_alive()

    # ---- the end

    def _is_joined(self) -> bool:
        engine = engines.started()
        return engine is not None and engine.context().session_name == self._nodes.session

    def shutdown(self) -> None:
        """End the cluster with all its processes and tell the drivers that joined it. Calling this twice is safe."""
        if self.address is None:
            return
        atexit.unregister(self.shutdown)
        if self._is_joined():
            api.shutdown()
        self._nodes.stop()
        self.head_node = None
        self.worker_nodes.clear()
        self.connected = False


@contextlib.contextmanager
def _set(variables: dict[str, str]) -> Iterator[None]:
    """Have these variables in the environment of what starts meanwhile."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


class LocalNodes:
    """Nodes of a local head, which counts the resources of each node."""

    def __init__(self) -> None:
        self._record: Any = None
        self._environ: dict[str, str] = {}  # when the head was started

    @property
    def address(self) -> str | None:
        return str(self._record.socket) if self._record is not None else None

    @property
    def session(self) -> str:
        return str(self._record.session)

    def start_head(self, given: dict[str, Any]) -> str:
        self._environ = dict(os.environ)
        known = ("num_cpus", "num_gpus", "resources", "labels", "object_store_memory")
        with _set(given.get("env_vars", {})):
            self._record = api.start_head(with_us=True, **{name: given[name] for name in known if name in given})
        return next(row.node_id for row in observing.snapshot(self._record).nodes if row.is_head)

    def add(self, given: dict[str, Any]) -> str:
        options = dict(given)
        if "node_name" in options:
            options["name"] = options.pop("node_name")
        new = {name: value for name, value in os.environ.items() if self._environ.get(name) != value}
        new |= options.pop("env_vars", {})
        return observing.add_node(self._record, {**options, "environ": new})

    def remove(self, node_id: str, *, graceful: bool) -> None:
        observing.remove_node(self._record, node_id)

    def alive(self) -> set[str]:
        if self._record is None:
            return set()
        return {row.node_id for row in observing.snapshot(self._record, whole=True).nodes if row.alive}

    def are_alive(self) -> bool:
        """Whether the cluster's head is alive. All other processes end with it."""
        return self._record is not None and sessions.is_alive(self._record)

    def stop(self) -> None:
        record, self._record = self._record, None
        with contextlib.suppress(ConnectionError):  # it has ended already
            observing.stop(record, force=True)


def __getattr__(name: str) -> Any:
    raise elsewhere.no_attribute(__name__, name)


__all__ = ["Cluster", "Node", "cluster_not_supported"]
