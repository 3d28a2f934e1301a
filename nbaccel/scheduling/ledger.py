"""The books: the resources of each place (a node, or a bundle of a placement group), who holds them, and its labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from nbaccel.quantities import TYPE_PREFIX, UNIT
from nbaccel.scheduling.events import Demand, DeviceSpec, NodeSpec
from nbaccel.scheduling.terms import Choice

TYPE_LABEL = "ray.io/accelerator-type"


def matches(labels: Mapping[str, str], conditions: Iterable[tuple[str, str]], types: Iterable[str] = ()) -> bool:
    """Whether a node with these labels meets every (key, condition).

    A label has one value, and a node may have devices of several `types`: any of them will do for the type's label.
    """
    return all(
        holds(labels.get(key), condition) or (key == TYPE_LABEL and any(holds(each, condition) for each in types))
        for key, condition in conditions
    )


def holds(value: str | None, condition: str) -> bool:
    """Whether one label's value meets one condition."""
    # As in Ray, a node that lacks the label meets every negated condition.
    if condition.startswith("!"):
        return not holds(value, condition[1:])
    if condition == "exists()":
        return value is not None
    if condition.startswith("in(") and condition.endswith(")"):
        return value in [each.strip() for each in condition[3:-1].split(",")]
    return value == condition


NO_DEVICES: dict[str, list[tuple[int, int]]] = {}


class SplitDemand(msgspec.Struct, frozen=True):
    """The demand of a choice, split into pooled resources, devices, and conditions on the devices."""

    pooled: tuple[tuple[str, int], ...]
    devices: tuple[tuple[str, int], ...]
    device_type: str | None
    memory_bytes: int
    type_label: str | None = None  # the label selector's condition on the type: "T4", "in(T4,L4)"

    @staticmethod
    def of(choice: Choice, device_resources: frozenset[str]) -> SplitDemand:
        demand = [(name, amount) for name, amount in choice.demand if amount]
        pooled = tuple(pair for pair in demand if pair[0] not in device_resources)
        devices = [pair for pair in demand if pair[0] in device_resources]
        if choice.gpu_memory_bytes and not any(name == "GPU" for name, _ in devices):
            devices.append(("GPU", 0))  # the fraction follows from each device's own memory
        types = [name.removeprefix(TYPE_PREFIX) for name, _ in pooled if name.startswith(TYPE_PREFIX)]
        label = dict(choice.placement.labels).get(TYPE_LABEL)
        return SplitDemand(pooled, tuple(devices), types[0] if types else None, choice.gpu_memory_bytes, label)

    def needs(self) -> dict[str, int]:
        """What is asked of each resource, devices first."""
        return dict(self.devices + self.pooled)

    def only(self, resource: str, amount: int, memory_bytes: int | None = None) -> SplitDemand:
        """The part of the demand that asks for devices of one resource."""
        memory_bytes = self.memory_bytes if memory_bytes is None else memory_bytes
        return SplitDemand((), ((resource, amount),), self.device_type, memory_bytes, self.type_label)

    def wants_type(self, kind: str | None) -> bool:
        """Whether a device of this type meets the conditions."""
        by_option = self.device_type is None or kind == self.device_type
        return by_option and (self.type_label is None or holds(kind, self.type_label))


class LedgerDevice(msgspec.Struct, eq=False):
    """One device of a place, or the slice of one that a bundle has reserved."""

    spec: DeviceSpec
    amount: int
    limit: int  # the part that other heads leave us, held by us or not
    used: int = 0
    reason: str = ""  # why `limit` is below `amount`
    base: LedgerDevice | None = None  # of a slice: the node's device
    commons: LedgerDevice | None = None  # of a bundle's slice: what the whole group has of the same device
    holds: dict[Hold, int] = {}
    is_lost: bool = False

    @property
    def lost(self) -> bool:
        """Whether the device counts as lost: `reason` says why."""
        return self.is_lost or (self.base is not None and self.base.is_lost)

    @property
    def state(self) -> str:
        """Why it cannot be had in full, as a sentence part: "GPU 0 (A100) is held by notebook b.ipynb"."""
        name = self.spec.label or f"{self.spec.resource} {self.spec.index}"
        return f"{name} is {(self.base or self).reason.removesuffix('.')}"

    def free_amount(self, empty: bool = False) -> int:
        """The amount that could be taken now; with `empty`, if nobody held any."""
        if self.lost:
            return 0
        if empty:
            return self.amount
        if self.base is None:
            return min(self.amount, self.limit) - self.used
        if self.base.limit < self.base.used:
            return 0
        own = self.amount - self.used
        return own if self.commons is None else min(own, self.commons.amount - self.commons.used)

    def need(self, amount: int, memory_bytes: int) -> int | None:
        """The amount of this device that meets the demand; None if its memory is too small or unknown."""
        if not memory_bytes:
            return amount
        have = self.spec.memory_bytes
        if not have or have < memory_bytes:
            return None
        share = -(-memory_bytes * UNIT // have)
        return max(amount, share)


class Hold(msgspec.Struct, eq=False):
    """The resources that one holder has taken from one place."""

    place: Place
    asked: SplitDemand
    pooled: tuple[tuple[str, int], ...]
    devices: dict[str, list[tuple[int, int]]]
    parts: list[tuple[LedgerDevice, int]]
    owner: Any  # a task's, actor's or group's record
    since: float
    lent: int = 0  # CPU given back while its worker is blocked
    inner: Place | None = None  # of a bundle's reserve: the bundle
    in_commons: Hold | None = None  # of a hold on a bundle: its copy in what the group has in common
    is_copy: bool = False

    def belong_to(self, owner: Any, since: float) -> None:
        """Have this owner from now on, also in what the group has in common."""
        self.owner, self.since = owner, since
        if self.in_commons is not None:
            self.in_commons.owner, self.in_commons.since = owner, since


class Place(msgspec.Struct, eq=False):
    """Where work can be put: a node, a bundle on a node, or the commons: all the bundles that a group has on a node.

    As in Ray, who names no bundle takes from the commons, and who names one takes from the bundle and from the commons:
    nobody gets more of a bundle than it has, and all together get no more than the group has reserved.
    """

    node_id: bytes
    name: str
    order: int
    totals: Demand
    free: Demand
    devices: dict[str, list[LedgerDevice]]
    labels: dict[str, str]
    is_head: bool = False
    group_id: bytes | None = None
    bundle: int = -1  # -1: none, so it is a node or the commons of a group
    commons: Place | None = None  # of a bundle
    bundles: list[Place] = []  # of the commons
    reserve: Hold | None = None  # a bundle's hold on its node
    closing: bool = False  # the group is removed: the reserve goes back with the last hold
    alive: bool = True
    absent: dict[str, str] = {}  # resource -> why the node does not offer what its machine has
    node_type: str = ""  # of a node that was asked for
    idle_since: float = 0.0  # of such a node: since when nobody has held any of it
    leaving: bool = False  # it was told to go, and gets no more work
    kept_by: str = ""  # why it did not go when it was told to
    version: int = 0  # grows with each change of what is free here, of a device, or of why it stays
    holds: dict[Hold, None] = {}

    @staticmethod
    def of(spec: NodeSpec, order: int) -> Place:
        devices: dict[str, list[LedgerDevice]] = {}
        for device in sorted(spec.devices, key=lambda each: each.index):
            devices.setdefault(device.resource, []).append(LedgerDevice(device, device.amount, device.amount))
        return Place(
            spec.node_id,
            spec.name,
            order,
            dict(spec.totals),
            dict(spec.totals),
            devices,
            dict(spec.labels),
            spec.is_head,
            absent=spec.absent,
            node_type=spec.node_type,
        )

    def emptied(self, *, restored: bool = False) -> Place:
        """The same place with nothing held, to try what could ever fit; `restored`: with its lost devices back."""
        devices = {
            name: [LedgerDevice(d.spec, d.amount, d.amount, is_lost=d.lost and not restored) for d in devices]
            for name, devices in self.devices.items()
        }
        totals = self.totals
        return Place(
            self.node_id, self.name, self.order, dict(totals), dict(totals), devices, self.labels, self.is_head
        )

    @property
    def has_accelerators(self) -> bool:
        return any(self.devices.values())

    def take(self, asked: SplitDemand, owner: Any, now: float) -> Hold | str:
        """Take everything that is asked for. Returns the hold, or the name of the first resource that is short."""
        free, commons = self.free, self.commons
        for name, amount in asked.pooled:
            if free.get(name, 0) < amount or (commons is not None and commons.free.get(name, 0) < amount):
                return name
        parts = self.pick(asked) if asked.devices else []
        if isinstance(parts, str):
            return parts
        hold = self._charge(asked, parts, owner, now)
        if self.commons is not None:
            shared = [(device.commons, amount) for device, amount in parts if device.commons is not None]
            hold.in_commons = self.commons._charge(asked, shared, owner, now)
            hold.in_commons.is_copy = True
        return hold

    def _charge(self, asked: SplitDemand, parts: list[tuple[LedgerDevice, int]], owner: Any, now: float) -> Hold:
        hold = Hold(self, asked, asked.pooled, _indexes(parts) if parts else NO_DEVICES, parts, owner, now)
        for device, amount in parts:
            device.used += amount
            device.holds[hold] = amount
        for name, amount in asked.pooled:
            self.free[name] -= amount
        self.holds[hold] = None
        self.version += 1
        return hold

    def left(self, name: str) -> int:
        """The amount of a pooled resource that can be taken here now."""
        own = self.free.get(name, 0)
        return own if self.commons is None else min(own, self.commons.free.get(name, 0))

    def most_left(self, name: str) -> int:
        """The most of a resource that a demand might get here now: of devices, whole ones or a part of one."""
        devices = self.devices.get(name)
        if devices is None:
            return self.left(name)
        whole = most = 0
        for device in devices:
            if device.base is None and not device.is_lost:  # of a node, as in almost every call
                free = (device.limit if device.limit < device.amount else device.amount) - device.used
            else:
                free = device.free_amount()
            if free >= UNIT:
                whole += UNIT
            elif free > most:
                most = free
        return whole or most

    def amounts_left(self) -> dict[str, int]:
        """Of each resource, the most that a demand might get here now."""
        return {name: self.most_left(name) for name in (*self.totals, *self.devices)}

    def empty_commons(self, order: int) -> Place:
        """The commons of this bundle's group on this bundle's node, before any bundle has joined them."""
        name = f"the bundles of {self.name.partition(' of ')[2]}"
        return Place(self.node_id, name, order, {}, {}, {}, self.labels, group_id=self.group_id)

    def join(self, bundle: Place) -> None:
        """One more bundle of the group whose commons this is."""
        self.bundles.append(bundle)
        bundle.commons = self
        for name, amount in bundle.totals.items():
            self.totals[name] = self.totals.get(name, 0) + amount
            self.free[name] = self.free.get(name, 0) + amount
        for resource, slices in bundle.devices.items():
            devices = self.devices.setdefault(resource, [])
            for each in slices:
                each.commons = next((device for device in devices if device.base is each.base), None)
                if each.commons is None:
                    each.commons = LedgerDevice(each.spec, 0, 0, base=each.base)
                    devices.append(each.commons)
                each.commons.amount += each.amount
                each.commons.limit += each.amount
            devices.sort(key=lambda device: device.spec.index)

    def all_who_share(self) -> list[Place]:
        """The places that compete for what this one has: itself, or the whole group on its node."""
        commons = self.commons or self
        return [commons, *commons.bundles]

    def pick(self, asked: SplitDemand, empty: bool = False) -> list[tuple[LedgerDevice, int]] | str:
        """The devices that this demand would get, or the resource that cannot be met. The only rule for devices."""
        chosen: list[tuple[LedgerDevice, int]] = []
        for resource, amount in asked.devices:
            devices = self.fitting(asked, resource)
            parts = _whole(devices, amount, asked, empty) if amount >= UNIT else _part(devices, amount, asked, empty)
            if parts is None:
                return resource
            chosen += parts
        return chosen

    def fitting(self, asked: SplitDemand, resource: str) -> list[LedgerDevice]:
        """The devices of the right type; where no device's type is known, all of them."""
        devices = self.devices.get(resource, [])
        if (asked.device_type is None and asked.type_label is None) or not any(each.spec.type for each in devices):
            return devices
        of_type = [device for device in devices if asked.wants_type(device.spec.type)]
        if of_type or not self._type_elsewhere(asked, resource):
            return of_type
        return devices

    def _type_elsewhere(self, asked: SplitDemand, resource: str) -> bool:
        """Whether the type speaks of something else: devices of another resource, or a label that the user gave."""
        label = self.labels.get(TYPE_LABEL)
        of_user = label is not None and label not in self.types
        if of_user and asked.device_type is None and asked.type_label is not None and holds(label, asked.type_label):
            return True
        others = [name for name, _ in asked.devices if name != resource]
        return any(asked.wants_type(each.spec.type) for name in others for each in self.devices.get(name, ()))

    @property
    def types(self) -> set[str]:
        """The types of all devices here."""
        return {each.spec.type for devices in self.devices.values() for each in devices if each.spec.type}

    def meets(self, conditions: tuple[tuple[str, str], ...]) -> bool:
        """Whether this place has the requested labels; the type of each of its devices counts as a label."""
        return not conditions or matches(self.labels, conditions, self.types)

    def lacks_for_ever(self, asked: SplitDemand) -> str | None:
        """The resource of which even the empty place has too little, None when the demand fits it."""
        for name, amount in asked.pooled:
            if self.totals.get(name, 0) < amount:
                return name
        parts = self.pick(asked, empty=True)
        return parts if isinstance(parts, str) else None

    def lost_devices(self, asked: SplitDemand) -> list[LedgerDevice]:
        """The lost devices without which this demand can never be met here any more."""
        lost = [d for name, _ in asked.devices for d in self.fitting(asked, name) if d.lost]
        if not lost or self.lacks_for_ever(asked) is None:
            return []
        return lost if self.emptied(restored=True).lacks_for_ever(asked) is None else []

    def lacks_now(self, asked: SplitDemand) -> str | None:
        """The resource that refuses the demand at this moment."""
        for name, amount in asked.pooled:
            if self.left(name) < amount:
                return name
        parts = self.pick(asked)
        return parts if isinstance(parts, str) else None

    def all_lacking_now(self, asked: SplitDemand) -> list[str]:
        """Every resource that refuses the demand at this moment."""
        lacking = [name for name, amount in asked.pooled if self.left(name) < amount]
        for name, amount in asked.devices:
            if isinstance(self.pick(asked.only(name, amount)), str):
                lacking.append(name)
        return lacking

    def utilisation(self, asked: SplitDemand) -> float:
        """The highest share in use among the resources that are asked."""
        highest = 0.0
        free, totals = self.free, self.totals
        for name, _ in asked.pooled:
            total = totals.get(name, 0)
            if total and 1 - free[name] / total > highest:
                highest = 1 - free[name] / total
        for name, _ in asked.devices:
            devices = self.devices.get(name, ())
            total = sum([device.amount for device in devices])
            if total and (share := sum([device.used for device in devices]) / total) > highest:
                highest = share
        return highest


def _whole(
    devices: list[LedgerDevice], amount: int, asked: SplitDemand, empty: bool
) -> list[tuple[LedgerDevice, int]] | None:
    """The lowest-numbered devices that nobody uses. Two or more never come from partitions: a process sees only one."""
    count, rest = divmod(amount, UNIT)
    if rest:
        return None
    parts: list[tuple[LedgerDevice, int]] = []
    for device in devices:
        if count > 1 and device.spec.is_partition:
            continue
        if (
            (empty or not device.used)
            and device.free_amount(empty) >= UNIT
            and device.need(UNIT, asked.memory_bytes) == UNIT
        ):
            parts.append((device, UNIT))
            if len(parts) == count:
                return parts
    return None


def _part(
    devices: list[LedgerDevice], amount: int, asked: SplitDemand, empty: bool
) -> list[tuple[LedgerDevice, int]] | None:
    """The fullest device that still holds it, the lowest-numbered of equals: pack before opening the next."""
    best: tuple[LedgerDevice, int] | None = None
    least = UNIT + 1
    for device in devices:
        need = device.need(amount, asked.memory_bytes)
        if need is None:
            continue
        free = device.free_amount(empty)
        if need <= free < least:
            best, least = (device, need), free
    return [best] if best is not None else None


def _indexes(parts: list[tuple[LedgerDevice, int]]) -> dict[str, list[tuple[int, int]]]:
    devices: dict[str, list[tuple[int, int]]] = {}
    for device, amount in parts:
        devices.setdefault(device.spec.resource, []).append((device.spec.index, amount))
    return devices
