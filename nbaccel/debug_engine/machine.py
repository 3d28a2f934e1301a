"""The one node of this engine: what the machine has, and what a task gets of it."""

from __future__ import annotations

import os
import socket
from typing import Any

from nbaccel import accelerators
from nbaccel.handles.options import InitOptions
from nbaccel.host_address import host_address
from nbaccel.local_engine.head.devices.node_devices import device_specs, usable_cpus
from nbaccel.quantities import UNIT
from nbaccel.scheduling.events import NodeSpec

Assigned = dict[str, list[tuple[int, int]]]


class DebugMachine:
    """This machine as a node. Raises ValueError for what it cannot offer."""

    def __init__(self, options: InitOptions) -> None:
        self.node_id = os.urandom(28)
        real = accelerators.RealMachine()
        found = accelerators.detect(real, gpu_vendor=options.gpu_vendor, simulate=options.simulate)
        self.offered = accelerators.resolve_resources(
            found, num_gpus=options.num_gpus, resources=options.resources, gpu_vendor=options.gpu_vendor,
            environ=real.environ,
        )  # fmt: skip
        self._hide = options.hide_unassigned
        self.spec = self._spec(options)

    def _spec(self, options: InitOptions) -> NodeSpec:
        plain = {name: amount for name, amount in options.resources.items() if name not in self.offered.devices}
        amounts = {**plain, **self.offered.resources}
        amounts["CPU"] = options.num_cpus if options.num_cpus is not None else usable_cpus()
        all_memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        amounts["memory"] = all_memory if options.memory is None else options.memory
        amounts |= {f"node:{host_address()}": 1, "node:__internal_head__": 1}
        labels = {"ray.io/node-id": self.node_id.hex(), **self.offered.labels, **options.labels}
        totals = {name: round(amount * UNIT) for name, amount in amounts.items()}
        return NodeSpec(self.node_id, socket.gethostname(), totals, device_specs(self.offered), labels, True)

    def ids(self, assigned: Assigned) -> dict[str, list[str]]:
        """Device ids by resource, in device order."""
        devices = self.offered.devices
        return {name: [devices[name][index].id for index, _ in sorted(slots)] for name, slots in assigned.items()}

    def told_ids(
        self, assigned: Assigned, ids: dict[str, list[str]] | None, environment: dict[str, Any]
    ) -> dict[str, list[str]] | None:
        """What a task is told that it holds: as its runtime_env names the devices, where that sets their variable."""
        own = environment.get("env_vars") or {}
        told = dict(ids or {})
        for name, slots in assigned.items():
            devices = [self.offered.devices[name][index] for index, _ in slots]
            value = own.get(accelerators.variable_of(devices[0]))
            if value is not None:
                told[name] = accelerators.named_by_user(devices, value)[0]
        return told or None

    def environment(self, assigned: Assigned, hide: bool | None) -> dict[str, str | None]:
        """Variables that give a task its devices."""
        environ = os.environ
        hides = self._hide if hide is None else hide
        variables: dict[str, Any] = dict(accelerators.hidden_environment(self.offered, environ)) if hides else {}
        for name, slots in assigned.items():
            devices = [self.offered.devices[name][index] for index, _ in sorted(slots)]
            count = len(self.offered.devices[name])
            variables.update(accelerators.environment_for(devices, environ, node_device_count=count))
        return variables
