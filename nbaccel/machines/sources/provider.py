"""The provider of nodes that Ray's autoscaler loads in its own process on the head, by the name of this class.

Its base is Ray's plain NodeProvider. The second version of the autoscaler never calls what sends a
BatchingNodeProvider's requests, so that one would be asked for nodes and begin none.
"""

from __future__ import annotations

import atexit
import importlib.metadata
import json
import logging
import platform
import threading
import time
from pathlib import Path
from typing import Any

from ray.autoscaler.node_provider import NodeProvider
from ray.autoscaler.tags import (
    NODE_KIND_HEAD,
    NODE_KIND_WORKER,
    STATUS_UP_TO_DATE,
    TAG_RAY_NODE_KIND,
    TAG_RAY_NODE_STATUS,
    TAG_RAY_USER_NODE_TYPE,
)
from ray.exceptions import RayError

from nbaccel.machines.sources import growing_machines
from nbaccel.machines.sources.growing_machines import LOOK_EVERY_S, GrowingMachines
from nbaccel.machines.sources.machines import FarMachine, MachineSource, NodeSettings
from nbaccel.machines.sources.slurm_source import SlurmSource
from nbaccel.machines.sources.ssh_source import SshSource
from nbaccel.ray_preflight import HeadLink

logger = logging.getLogger(__name__)
_ANSWER_TIMEOUT_S = 10


class MachinesProvider(NodeProvider):  # type: ignore[misc]  # Ray has no types
    """Slurm's jobs and ssh's machines as nodes of Ray's autoscaler."""

    def __init__(self, provider_config: dict[str, Any], cluster_name: str) -> None:
        super().__init__(provider_config, cluster_name)
        self._given = provider_config["nbaccel"]
        self._types: dict[str, dict[str, Any]] = self._given["types"]
        self._ray = HeadLink(self._given["address"])
        self._machines = GrowingMachines(
            self._sources(cluster_name), {name: options["from"] for name, options in self._types.items()}, self._joined
        )
        self._published = ""
        self._closing = threading.Event()
        atexit.register(self._close)
        threading.Thread(target=self._look, name="nbaccel-machines", daemon=True).start()

    def _sources(self, cluster: str) -> dict[str, MachineSource]:
        settings = NodeSettings(
            cluster,
            self._given["address"],
            importlib.metadata.version("ray"),
            platform.python_version(),
            self._given["python_parts"],
            self._given["token_file"],
        )
        slurm = {name: options for name, options in self._types.items() if options["from"] == "slurm"}
        ssh = {name: options for name, options in self._types.items() if options["from"] == "ssh"}
        sources: dict[str, MachineSource] = {}
        if slurm:
            sources["slurm"] = SlurmSource(settings, slurm, Path(self._given["folder"]))
        if ssh:
            sources["ssh"] = SshSource(settings, ssh, growing_machines.token_of(settings.token_file))
        return sources

    # ---- what Ray asks

    def non_terminated_nodes(self, tag_filters: dict[str, str]) -> list[str]:
        nodes = [self._given["head_id"], *self._machines.all()]
        return [id for id in nodes if tag_filters.items() <= self.node_tags(id).items()]

    def node_tags(self, node_id: str) -> dict[str, str]:
        if node_id == self._given["head_id"]:
            return _tags(NODE_KIND_HEAD, self._given["head_type"])
        machine: FarMachine | None = self._machines.all().get(node_id)
        return _tags(NODE_KIND_WORKER, machine.node_type if machine else "")

    def is_running(self, node_id: str) -> bool:
        return True  # whether Ray runs there is for Ray to see

    def is_terminated(self, node_id: str) -> bool:
        return node_id not in self.non_terminated_nodes({})

    def internal_ip(self, node_id: str) -> str:
        machine: FarMachine | None = self._machines.all().get(node_id)
        return machine.place if machine else ""

    def create_node(self, node_config: dict[str, Any], tags: dict[str, str], count: int) -> None:
        for _ in range(count):
            self._machines.begin(tags[TAG_RAY_USER_NODE_TYPE])

    def terminate_node(self, node_id: str) -> None:
        self._machines.end(node_id)

    # ---- looking, in a thread of its own

    def _look(self) -> None:
        while not self._closing.is_set():
            try:
                self._machines.look()
                self._publish()
            except Exception:  # the autoscaler goes on, and its log has it
                logger.exception("The machines could not be looked at.")
            self._closing.wait(LOOK_EVERY_S)

    def _joined(self) -> set[str] | None:
        """The ids of the machines whose node belongs to the cluster; None where Ray does not say."""
        try:
            return self._ray.joined(_ANSWER_TIMEOUT_S)
        except (RayError, RuntimeError, OSError) as error:
            logger.warning("Ray's head does not say which nodes have joined: %s", error)
            return None

    def _publish(self) -> None:
        """Keep what views show where every driver of the cluster can read it."""
        told = growing_machines.arrivals_told(self._machines, self._types, time.monotonic(), time.time())
        text = json.dumps(told)
        if text != self._published:
            self._ray.publish(growing_machines.KEY, text, growing_machines.NAMESPACE)
            self._published = text

    def _close(self) -> None:
        self._closing.set()
        self._machines.close()


def _tags(kind: str, node_type: str) -> dict[str, str]:
    return {
        TAG_RAY_NODE_KIND: kind,
        TAG_RAY_USER_NODE_TYPE: node_type,
        TAG_RAY_NODE_STATUS: STATUS_UP_TO_DATE,
    }
