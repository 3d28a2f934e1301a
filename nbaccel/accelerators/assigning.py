"""The environment that gives a task its devices and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from nbaccel.accelerators.table import vendor_of
from nbaccel.accelerators.vendor import Device, Environment
from nbaccel.accelerators.visibility import switched_off


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
    return {**dict.fromkeys(vendor.unset), **vendor.assign(ordered, environ, node_device_count)}


def named_by_user(devices: Sequence[Device], value: str) -> tuple[list[str], str]:
    """The ids and the variable's text for a task whose runtime_env itself sets the variable of these devices.

    As in Ray, the user's list stands for the node's devices: the device at place 1 of the node is its entry 1. A list
    that is too short for one of the devices is used as a whole.

    >>> named_by_user(node.devices["GPU"][:1], "2,3")
    (['2'], '2')
    """
    vendor = vendor_of(devices[0].vendor)
    entries = [entry for found in vendor.filters({vendor.variable: value}) for entry in found.picks or ()]
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

    GPUs are hidden even if the node offers none of its own (`init(num_gpus=0)`).
    """
    hidden: Environment = {}
    offered = [device.vendor for devices in node.devices.values() for device in devices]
    for name in dict.fromkeys([*offered, *([node.gpu_vendor] if node.gpu_vendor else [])]):
        vendor = vendor_of(name)
        if not switched_off(vendor, environ):
            hidden |= {**dict.fromkeys(vendor.unset), vendor.variable: vendor.hidden}
    return hidden
