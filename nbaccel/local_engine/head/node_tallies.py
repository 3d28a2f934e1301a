"""Sums over all nodes of a head, which cost a snapshot only the nodes that have changed since the last one.

Of each node it is remembered what it has, what is free and who holds its devices. A place of the scheduler counts its
changes (`Place.version`), so that a look at ten thousand quiet nodes is ten thousand comparisons of a number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from nbaccel.accelerators import NodeDevices
from nbaccel.quantities import UNIT
from nbaccel.views import totals
from nbaccel.views.snapshot import DeviceCount

if TYPE_CHECKING:
    from nbaccel.local_engine.head.devices.node_devices import Nodes
    from nbaccel.scheduling.ledger import Place
    from nbaccel.scheduling.scheduler import Scheduler

_FACTS = ("total", "held", "taken", "logical", "simulated")


class NodeTally(msgspec.Struct):
    """What was counted of a node when its place had this version."""

    place: Place
    version: int
    calm: int  # see totals.choose
    devices: int
    has: dict[str, int]  # resource -> amount
    free: dict[str, int]
    facts: dict[tuple[str, str], int]  # resource and fact -> number of devices
    shared: Counter[tuple[str, int]]  # resource and free amount -> number of devices of which only a part is held


class NodeTallies:
    """The tallies of the living nodes, and their sums."""

    def __init__(self, scheduler: Scheduler, nodes: Nodes) -> None:
        self._scheduler, self._nodes = scheduler, nodes
        self._of: dict[bytes, NodeTally] = {}
        self._has: Counter[str] = Counter()
        self._free: Counter[str] = Counter()
        self._facts: Counter[tuple[str, str]] = Counter()
        self._shared: Counter[tuple[str, int]] = Counter()

    def look(self) -> None:
        """Count the nodes again that have changed."""
        known, gone = self._of, self._nodes.gone
        for node_id, spec in self._nodes.specs.items():
            tally = known.get(node_id)
            if tally is not None and tally.version == tally.place.version and node_id not in gone:
                continue
            if tally is not None:
                self._add(known.pop(node_id), -1)
            place = self._scheduler.node_place(node_id) if node_id not in gone else None
            if place is not None:
                known[node_id] = tally = self._count(node_id, place, is_head=spec.is_head)
                self._add(tally, 1)

    def _count(self, node_id: bytes, place: Place, *, is_head: bool) -> NodeTally:
        has, free = self._scheduler.node_totals(node_id), self._scheduler.node_available(node_id)
        tally = NodeTally(place, place.version, 0, 0, has, free, {}, Counter())
        is_troubled, is_busy = bool(place.kept_by), any(free[name] < amount for name, amount in has.items())
        offered = self._nodes.devices.get(node_id, NodeDevices({}))
        for resource, devices in offered.devices.items():
            tally.devices += len(devices)
            for device, state in zip(devices, place.devices.get(resource, ()), strict=False):
                left, is_held = max(state.free_amount(), 0), bool(state.holds)
                is_taken = bool(state.reason) and not is_held
                is_troubled, is_busy = is_troubled or bool(state.reason), is_busy or is_held
                for fact, number in zip(_FACTS, _facts(is_held, is_taken, device.kind.value), strict=True):
                    tally.facts[resource, fact] = tally.facts.get((resource, fact), 0) + number
                if is_held and left:
                    tally.shared[resource, left] += 1
        moves = bool(place.node_type)
        calm = totals.TROUBLED if is_troubled else totals.BUSY if is_busy else totals.MOVING if moves else totals.IDLE
        tally.calm = 0 if is_head else calm
        return tally

    def _add(self, tally: NodeTally, sign: int) -> None:
        for sums, of in ((self._has, tally.has), (self._free, tally.free)):
            for name, amount in of.items():
                sums[name] += sign * amount
        for fact, number in tally.facts.items():
            self._facts[fact] += sign * number
        for part, number in tally.shared.items():
            self._shared[part] += sign * number

    # ---- what a snapshot says

    def shown(self) -> list[bytes]:
        """The nodes that have rows, in their order: the newest that have gone, and those that are least calm."""
        gone = self._nodes.gone
        newest = set(list(gone)[-totals.MOST_GONE :])
        ids = [node_id for node_id in self._nodes.specs if node_id in self._of or node_id in newest]

        def calm(node_id: bytes) -> int:
            tally = self._of.get(node_id)
            return tally.calm if tally is not None else totals.TROUBLED

        def devices(node_id: bytes) -> int:
            tally = self._of.get(node_id)
            return tally.devices if tally is not None else 0

        if len(ids) <= totals.MOST_NODES and sum(map(devices, ids)) <= totals.MOST_DEVICES:
            return ids
        return totals.choose(ids, calm, totals.MOST_NODES, totals.MOST_DEVICES, devices)

    def node_counts(self) -> dict[str, int]:
        return {"alive": len(self._of), "gone": len(self._nodes.gone)}

    def device_counts(self) -> list[DeviceCount]:
        """The numbers of devices by resource."""
        return [self._device_count(name) for name, fact in self._facts if fact == "total" and self._facts[name, fact]]

    def _device_count(self, resource: str) -> DeviceCount:
        left = {amount: number for (name, amount), number in self._shared.items() if name == resource and number}
        return DeviceCount(
            resource,
            **{fact: self._facts[resource, fact] for fact in _FACTS},
            shared=sum(left.values()),
            most_free=max(left, default=0) / UNIT,
            least_free=min(left, default=0) / UNIT,
        )

    def resources(self) -> dict[str, tuple[float, float]]:
        """What is free of each resource on all living nodes, and all of it."""
        return {name: (self._free[name] / UNIT, amount / UNIT) for name, amount in self._has.items() if amount}


def _facts(is_held: bool, is_taken: bool, kind: str) -> Iterable[int]:
    return 1, is_held, is_taken, kind == "logical", kind == "simulated"
