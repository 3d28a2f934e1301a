"""Computes what a node offers: the found devices, limited by visible-devices variables, plus requested logical ones.

Quantities are logical, so a node may offer more devices than it has. It may never offer more than a visible-devices
variable allows, because with it the user decides which devices this work may touch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct, field

from nbaccel.accelerators.detection import Detection, choose_gpu_vendor, usable_devices
from nbaccel.accelerators.table import RESOURCES, VENDORS, vendor_of
from nbaccel.accelerators.tpu import LEGAL_QUANTITIES
from nbaccel.accelerators.vendor import Device, DeviceKind, Environment, Vendor
from nbaccel.accelerators.visibility import Selection, assigned, filters_of, renumbered, select, switched_off
from nbaccel.quantities import TYPE_PREFIX

TYPE_LABEL = "ray.io/accelerator-type"

# Each device is a record here and a row in every view; nobody's node has more.
MOST_DEVICES = 10_000


class NodeDevices(Struct):
    """The devices of a node by resource, in the order of their `index`, and the facts that follow from them.

    resources  further resources: `accelerator_type:<T>` for each type present, and a TPU slice's own
    labels     node labels, e.g. {"ray.io/accelerator-type": "A100"}
    notes      sentences for the user: entries of variables that were ignored, cards that could not be told apart
    """

    devices: dict[str, list[Device]] = field(default_factory=dict)
    resources: dict[str, float] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    gpu_vendor: str | None = None

    @property
    def quantities(self) -> dict[str, float]:
        """All resources that the node offers because of its devices: {"GPU": 2.0, "accelerator_type:A100": 1.0}."""
        counts = {resource: float(len(devices)) for resource, devices in self.devices.items() if devices}
        return {**counts, **self.resources}

    def to_dict(self) -> dict[str, Any]:
        return {
            "devices": {resource: [one.to_dict() for one in devices] for resource, devices in self.devices.items()},
            "resources": self.resources,
            "labels": self.labels,
            "notes": self.notes,
            "gpu_vendor": self.gpu_vendor,
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> NodeDevices:
        devices = {name: [Device.from_dict(one) for one in devices] for name, devices in record["devices"].items()}
        return cls(**{**record, "devices": devices})


def resolve_resources(
    detection: Detection,
    *,
    num_gpus: float | None,
    resources: Mapping[str, float] | None,
    gpu_vendor: str | None = None,
    environ: Mapping[str, str],
) -> NodeDevices:
    """Decide which devices a node offers. None (or a missing resource) means: all that were found.

    Raises ValueError for a quantity that is not a whole number from 0 up, or more than a visible variable allows.

    >>> node = resolve_resources(detection, num_gpus=2, resources=None, environ={"CUDA_VISIBLE_DEVICES": "1,3"})
    >>> [device.id for device in node.devices["GPU"]]
    ['1', '3']
    """
    chosen = choose_gpu_vendor(detection, environ, gpu_vendor or detection.gpu_vendor)
    node = NodeDevices(gpu_vendor=chosen)
    gpus = vendor_of(chosen or VENDORS[0].name)
    _offer(node, detection, gpus, environ, _Wish("num_gpus", num_gpus))
    for vendor in VENDORS:
        if vendor.resource != "GPU":
            asked = (resources or {}).get(vendor.resource)
            _offer(node, detection, vendor, environ, _Wish(f"resources={{'{vendor.resource}'}}", asked))
    _describe(node, detection)
    return node


class _Wish(Struct, frozen=True):
    """A quantity as the user wrote it; None if the user wrote none."""

    written: str
    quantity: float | None

    def __str__(self) -> str:
        if self.written == "num_gpus":
            return f"num_gpus={self.quantity:g}"
        return self.written.replace("'}", f"': {self.quantity:g}}}")

    def count(self) -> int | None:
        if self.quantity is None:
            return None
        if not math.isfinite(self.quantity) or self.quantity < 0 or self.quantity != int(self.quantity):
            raise ValueError(
                f"init asked for {self}, but a node's devices are counted whole, from 0 up. "
                f"Give the node whole devices; a task or actor may then ask for a fraction of one."
            )
        if self.quantity > MOST_DEVICES:
            raise ValueError(f"init asked for {self}, but {MOST_DEVICES} devices are the most a node can have.")
        return int(self.quantity)


def _offer(node: NodeDevices, detection: Detection, vendor: Vendor, environ: Mapping[str, str], wish: _Wish) -> None:
    asked = wish.count()
    found = detection.finding(vendor.name).devices
    selection = select(vendor, found, environ)
    usable = usable_devices(vendor, selection, node.gpu_vendor or VENDORS[0].name)
    if asked is None:
        # Names in a variable are no devices: by default only found devices are offered.
        usable = usable if found else []
    elif selection.restricted and asked > len(usable):
        raise ValueError(_too_many(wish, vendor, selection, usable))
    else:
        usable = usable[:asked] + _logical(vendor, found, usable, asked - len(usable))
    pinned, notes = vendor.pin(found, usable, environ)
    if pinned or asked is not None:
        node.devices[vendor.resource] = renumbered(pinned)
    node.notes += [*selection.problems, *notes]


def _logical(vendor: Vendor, found: Sequence[Device], usable: Sequence[Device], count: int) -> list[Device]:
    """Logical devices, which are only counted; their numbers continue those of the found devices."""
    first = max((device.ordinal + 1 for device in (*found, *usable) if device.ordinal is not None), default=0)
    return [vendor.logical(str(number), number) for number in range(first, first + max(0, count))]


def _too_many(wish: _Wish, vendor: Vendor, selection: Selection, usable: Sequence[Device]) -> str:
    allowed = len(usable)
    ids = f" ({', '.join(device.id for device in usable)})" if usable else ""
    why = "".join(f" {problem}" for problem in selection.problems)
    unusable = [f" {one.id} is left out: {one.unavailable}." for one in selection.devices if one.unavailable]
    variable = selection.filters[0].variable
    return (
        f"init asked for {wish}, but {selection.words()} allows {allowed} device{'' if allowed == 1 else 's'}{ids}."
        f"{why}{''.join(unusable)} Ask for at most {allowed}, or unset or widen {variable} before starting."
    )


def _describe(node: NodeDevices, detection: Detection) -> None:
    """Add the types as resources and labels, and the facts of a TPU host about its slice."""
    offered = [device for devices in node.devices.values() for device in devices]
    types = list(dict.fromkeys(device.type for device in offered if device.type))
    node.resources |= {TYPE_PREFIX + kind: 1.0 for kind in types}
    if types:
        node.labels[TYPE_LABEL] = types[0]
    for vendor in _vendors_of(offered):
        finding = detection.finding(vendor)
        node.resources |= finding.extra_resources
        node.labels |= finding.labels


def _vendors_of(devices: Iterable[Device]) -> list[str]:
    return list(dict.fromkeys(device.vendor for device in devices if device.kind is not DeviceKind.LOGICAL))


# ---- the environment that gives a task its devices and no others


class OffersDevices(Protocol):
    """The devices that a node offers, by resource (`NodeDevices`)."""

    @property
    def devices(self) -> Mapping[str, Sequence[Device]]: ...

    @property
    def gpu_vendor(self) -> str | None: ...


def environment_for(devices: Sequence[Device], environ: Mapping[str, str], *, node_device_count: int) -> Environment:
    """The variables to set (text) and to unset (None) for a task that holds these devices of one resource.

    `environ` is the environment that the task would start with, `node_device_count` how many such devices its node has.
    The vendor's other variables are unset, since each filters what the one before it has left; with a NOSET switch
    nothing is touched.

    >>> environment_for(node.devices["GPU"][:1], os.environ, node_device_count=2)
    {'CUDA_VISIBLE_DEVICES': '0'}
    """
    if not devices:
        return {}
    vendor = vendor_of(devices[0].vendor)
    if switched_off(vendor, environ):
        return {}
    ordered = sorted(devices, key=lambda device: device.index)
    return assigned(vendor, ordered, environ, node_device_count)


def named_by_user(devices: Sequence[Device], value: str) -> tuple[list[str], str]:
    """The ids and the variable's text for a task whose runtime_env itself sets the variable of these devices.

    As in Ray, the user's list stands for the node's devices: the device at place 1 of the node is its entry 1. A list
    that is too short for one of the devices is used as a whole.

    >>> named_by_user(node.devices["GPU"][:1], "2,3")
    (['2'], '2')
    """
    vendor = vendor_of(devices[0].vendor)
    entries = [entry for found in filters_of(vendor, {vendor.variable: value}) for entry in found.picks or ()]
    places = sorted(device.index for device in devices)
    if places[-1] >= len(entries):
        return entries, value
    chosen = [entries[place] for place in places]
    return chosen, ",".join(chosen) if value.replace(" ", "") == ",".join(entries) else value


def variable_of(device: Device) -> str:
    """The variable that a task with this device gets."""
    return vendor_of(device.vendor).variable


def hidden_environment(node: OffersDevices, environ: Mapping[str, str]) -> Environment:
    """The variables that hide all devices of each family that the node offers (`init(hide_unassigned=True)`).

    GPUs are hidden even if the node offers none of its own (`init(num_gpus=0)`); those of NVIDIA if it knows no vendor.
    """
    hidden: Environment = {}
    offered = [device.vendor for devices in node.devices.values() for device in devices]
    for name in dict.fromkeys([*offered, node.gpu_vendor or "nvidia"]):
        vendor = vendor_of(name)
        if not switched_off(vendor, environ):
            hidden |= {**dict.fromkeys(vendor.unset), vendor.variable: vendor.hidden}
    return hidden


# ---- which quantities of an accelerator a task may ask for


_FRACTIONS = frozenset(vendor.resource for vendor in VENDORS if vendor.fractions)
_FAMILY = {vendor.resource: "GPU" if vendor.resource == "GPU" else vendor.family for vendor in VENDORS}


def check_quantity(resource: str, quantity: float) -> None:
    """Raise ValueError unless a task may ask for this quantity of an accelerator; other resources pass unchecked.

    >>> check_quantity("GPU", 0.5)
    >>> check_quantity("TPU", 3)
    Traceback (most recent call last):
    ValueError: TPU resource quantities must be 1, 2, 4 or 8. The specified quantity 3 is invalid. Google TPU chips ...
    """
    if resource not in RESOURCES:
        return
    if not math.isfinite(quantity) or quantity < 0:
        raise ValueError(
            f"{resource} resource quantities must be numbers from 0 up. The specified quantity {quantity} is invalid. "
            f"Give how many devices the task needs."
        )
    if resource == "TPU":
        _check_chips(quantity)
    elif resource in _FRACTIONS:
        _check_fraction(resource, quantity)
    elif quantity != int(quantity):
        family = _FAMILY.get(resource, resource)
        raise ValueError(
            f"{resource} resource quantities must be whole numbers. The specified quantity {quantity:g} is invalid. "
            f"{_article(family)} {family} cannot be shared between tasks; ask for {math.ceil(quantity)}."
        )


def _article(noun: str) -> str:
    return "An" if noun[0] in "AEIO" else "A"


def _check_chips(quantity: float) -> None:
    if quantity != 0 and quantity not in LEGAL_QUANTITIES:
        raise ValueError(
            f"TPU resource quantities must be 1, 2, 4 or 8. The specified quantity {quantity:g} is invalid. "
            f"Google TPU chips of a host can only be joined in these shapes, and a chip cannot be shared; "
            f"ask for {min((one for one in LEGAL_QUANTITIES if one >= quantity), default=8)}."
        )


def _check_fraction(resource: str, quantity: float) -> None:
    if quantity > 1 and quantity != int(quantity):
        raise ValueError(
            f"{resource} resource quantities >1 must be whole numbers. The specified quantity {quantity:g} is invalid. "
            f"A task gets a part of one {_FAMILY[resource]} or whole ones, never a part beside a whole one; "
            f"ask for {math.floor(quantity)} or {math.ceil(quantity)}, or for a fraction below 1."
        )
