"""The nodes of one head: the devices that each offers, and the device at each index."""

from __future__ import annotations

from collections.abc import Iterator

from nbaccel.accelerators import Detection, Device, DeviceKind, NodeDevices
from nbaccel.host_address import host_address
from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.wire.ids import random_id
from nbaccel.scheduling.events import NodeAdded, NodeSpec, PrestartAsked

Assigned = dict[str, list[tuple[int, int]]]  # resource -> (index of the device, amount)
Key = tuple[bytes, str, int]  # node, resource, index


class Nodes:
    """The head's own node, and the virtual ones."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self.node_id = random_id()  # the head's own
        self.address = host_address()
        self.detection: Detection | None = None  # None until the devices of this machine are known
        self.devices: dict[bytes, NodeDevices] = {}
        self.specs: dict[bytes, NodeSpec] = {}
        self.gone: dict[bytes, str] = {}  # why

    def add(self, spec: NodeSpec, offered: NodeDevices) -> None:
        """Add a node."""
        self.devices[spec.node_id] = offered
        self.specs[spec.node_id] = spec
        self._tell(NodeAdded(spec))
        if spec.is_head:
            self._tell(PrestartAsked())

    def remove(self, node_id: bytes, why: str) -> None:
        self.gone[node_id] = why

    def ids(self, node_id: bytes, assigned: Assigned) -> dict[str, list[str]]:
        """Device ids by resource, in device order."""
        return {
            resource: [self.device(node_id, resource, index).id for index, _amount in sorted(slots)]
            for resource, slots in assigned.items()
        }

    def device(self, node_id: bytes, resource: str, index: int) -> Device:
        return self.devices[node_id].devices[resource][index]

    def assigned(self, node_id: bytes, assigned: Assigned) -> list[Device]:
        """The devices that an assignment names."""
        return [self.device(node_id, name, index) for name, slots in assigned.items() for index, _amount in slots]

    def assigned_real(self, node_id: bytes, assigned: Assigned) -> list[Device]:
        """The real devices among those that an assignment names."""
        return [device for device in self.assigned(node_id, assigned) if device.kind is DeviceKind.REAL]

    def lanes(self) -> Iterator[tuple[str, str, str]]:
        """Node, resource and id of each device of the living nodes."""
        for node_id, offered in self.devices.items():
            if node_id not in self.gone:
                for resource, devices in offered.devices.items():
                    yield from ((node_id.hex(), resource, device.id) for device in devices)

    def real(self) -> list[Device]:
        """The real devices of this machine that the head offers."""
        node = self.devices.get(self.node_id)
        offered = [device for devices in node.devices.values() for device in devices] if node else []
        return [device for device in offered if device.kind is DeviceKind.REAL]
