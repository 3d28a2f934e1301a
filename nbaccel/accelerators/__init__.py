"""Accelerators: detects them, decides which a node offers, and sets the environment that gives them to a task.

    Machine (seam) ──► detect ──► Detection ──► resolve_resources ──► NodeDevices ──► environment_for ──► variables
                          │           │                                    │
                     VENDORS table  report (people read it)            Sampler (utilisation, memory, …)

To add a vendor, copy the module of a similar one, fill in the fields of `vendor.Vendor`, and add the row to
`table.VENDORS`. Nothing here decides who gets which device. A vendor's library is loaded when its devices are read.
"""

from nbaccel.accelerators.detection import Detection, detect, detections, evidence, unknown_detection, usual_deadline_s
from nbaccel.accelerators.machine import RealMachine
from nbaccel.accelerators.offering import (
    NodeDevices,
    check_quantity,
    environment_for,
    hidden_environment,
    named_by_user,
    resolve_resources,
    variable_of,
)
from nbaccel.accelerators.table import RESOURCES, VENDORS, vendor_for_resource, vendor_of
from nbaccel.accelerators.vendor import Completed, Device, DeviceKind, Finding, Machine, Vendor

__all__ = [
    "RESOURCES",
    "VENDORS",
    "Completed",
    "Detection",
    "Device",
    "DeviceKind",
    "Finding",
    "Machine",
    "NodeDevices",
    "RealMachine",
    "Vendor",
    "check_quantity",
    "detect",
    "detections",
    "environment_for",
    "evidence",
    "hidden_environment",
    "named_by_user",
    "resolve_resources",
    "unknown_detection",
    "usual_deadline_s",
    "variable_of",
    "vendor_for_resource",
    "vendor_of",
]
