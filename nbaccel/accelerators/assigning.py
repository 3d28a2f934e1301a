"""The environment that gives a task its devices and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from nbaccel.accelerators.table import vendor_of
from nbaccel.accelerators.vendor import Device, Environment
from nbaccel.accelerators.visibility import switched_off


class OffersDevices(Protocol):
    """What a node offers, by resource (`NodeDevices`)."""

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


def hidden_environment(node: OffersDevices, environ: Mapping[str, str]) -> Environment:
    """The variables that hide every device of each family that the node offers (`init(hide_unassigned=True)`).

    GPUs are hidden also where the node offers none of those it has (`init(num_gpus=0)`).
    """
    hidden: Environment = {}
    offered = [device.vendor for devices in node.devices.values() for device in devices]
    for name in dict.fromkeys([*offered, *([node.gpu_vendor] if node.gpu_vendor else [])]):
        vendor = vendor_of(name)
        if not switched_off(vendor, environ):
            hidden |= {**dict.fromkeys(vendor.unset), vendor.variable: vendor.hidden}
    return hidden
