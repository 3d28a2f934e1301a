"""Every family against every kind of day: found, restricted, none, broken, a fraction asked, too many asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nbaccel.accelerators import (
    VENDORS,
    DeviceKind,
    check_quantity,
    detect,
    environment_for,
    resolve_resources,
    vendor_of,
)
from tests.accelerators.machines import (
    GIB,
    MadeMachine,
    add_amd,
    add_ascend,
    add_gaudi,
    add_intel,
    add_neuron,
    add_tpu,
)


class PretendedNvmlError(Exception):
    value = 9


def add_nvidia(machine: MadeMachine) -> None:
    """Two cards through a module with NVML's functions; the real bindings are in test_nvidia.py."""

    def refused(*_: Any) -> Any:
        raise PretendedNvmlError("Not Supported")

    machine.file("/dev/nvidia0")
    machine.modules["pynvml"] = SimpleNamespace(
        NVMLError=PretendedNvmlError,
        NVML_COMPUTEMODE_PROHIBITED=2,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=lambda handle: "NVIDIA A100-SXM4-40GB",
        nvmlDeviceGetUUID=lambda handle: f"GPU-{handle}",
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(total=40 * GIB),
        nvmlDeviceGetComputeMode=lambda handle: 0,
        nvmlDeviceGetMigMode=refused,
        nvmlDeviceGetPciInfo=refused,
    )


def break_nvidia(machine: MadeMachine) -> None:
    add_nvidia(machine)

    def failing() -> None:
        raise RuntimeError("a binding that throws what it likes")

    machine.modules["pynvml"].nvmlInit = failing


def break_amd(machine: MadeMachine) -> None:
    machine.pci("0000:10:00.0", "0x1002", "0x74a1")


def break_intel(machine: MadeMachine) -> None:
    machine.pci("0000:20:00.0", "0x8086", "0x0bd5")


def break_tpu(machine: MadeMachine) -> None:
    machine.pci("0000:40:00.0", "0x1ae0", "0x005e", "0x120000")


def break_neuron(machine: MadeMachine) -> None:
    add_neuron(machine)
    machine.prints("neuron-ls", "segmentation fault, please call AWS\n")


def break_gaudi(machine: MadeMachine) -> None:
    machine.pci("0000:50:00.0", "0x1da3", "0x1020", "0x120000")
    machine.tool("hl-smi", "echo 'no driver' >&2; exit 3")


def break_ascend(machine: MadeMachine) -> None:
    machine.file("/dev/davinci_manager")
    machine.file("/dev/davincix")


@dataclass(frozen=True)
class Family:
    """A row: how to furnish a machine, how to break it, and what to expect.

    count     devices of the furnished machine
    kind      accelerator type of the first
    allows    a value of the variable that allows one device, and the id of that device
    value     the variable's text for the first two devices
    said      a part of the sentence of the broken machine
    """

    vendor: str
    add: Callable[[MadeMachine], None]
    spoil: Callable[[MadeMachine], None]
    count: int
    kind: str
    allows: tuple[str, str]
    value: str | None
    said: str

    def __str__(self) -> str:
        return self.vendor


FAMILIES = [
    Family("nvidia", add_nvidia, break_nvidia, 2, "A100", ("1", "1"), "0,1", "a binding that throws what it likes"),
    Family(
        "amd",
        add_amd,
        break_amd,
        2,
        "AMD-Instinct-MI300X-OAM",
        ("1", "1"),
        "0,1",
        "amdgpu driver does not hold it",
    ),
    Family(
        "intel",
        add_intel,
        break_intel,
        2,
        "Intel-GPU-Max-1550",
        ("level_zero:1", "1"),
        "level_zero:0,1",
        "neither i915 nor xe drives it",
    ),
    Family("neuron", add_neuron, break_neuron, 4, "aws-neuron-core", ("2", "2"), "0,1", "'segmentation fault"),
    Family(
        "tpu",
        add_tpu,
        break_tpu,
        4,
        "TPU-V4",
        ("3", "3"),
        "0,1",
        "no /dev/accel*",
    ),
    Family("gaudi", add_gaudi, break_gaudi, 2, "Intel-GAUDI2", ("1", "1"), "0,1", "no driver (exit status 3)"),
    Family("ascend", add_ascend, break_ascend, 2, "Ascend910B", ("1", "1"), "0,1", "nothing of /dev/davinci*"),
]


def asked(family: Family, quantity: float) -> dict[str, Any]:
    """The arguments of init() for so many devices of this family."""
    if vendor_of(family.vendor).resource == "GPU":
        return {"num_gpus": quantity, "resources": None}
    return {"num_gpus": None, "resources": {vendor_of(family.vendor).resource: quantity}}


each_family = pytest.mark.parametrize("family", FAMILIES, ids=str)


def test_the_table_of_these_tests_has_every_vendor_in_their_order() -> None:
    assert [family.vendor for family in FAMILIES] == [vendor.name for vendor in VENDORS]


@each_family
def test_devices_are_found_typed_offered_and_assigned(family: Family, machine: MadeMachine) -> None:
    family.add(machine)
    detection = detect(machine)
    vendor = vendor_of(family.vendor)
    found = detection.finding(family.vendor)
    assert [device.index for device in found.devices] == list(range(family.count))
    assert {device.type for device in found.devices} == {family.kind}
    assert all(device.offered and device.kind is DeviceKind.REAL for device in found.devices)
    assert (found.reason, found.errors if family.vendor != "gaudi" else []) == ("", [])

    node = resolve_resources(detection, num_gpus=None, resources=None, environ={})
    offered = node.devices[vendor.resource]
    assert len(offered) == family.count
    assert node.quantities == {vendor.resource: family.count, f"accelerator_type:{family.kind}": 1.0}
    assert node.labels["ray.io/accelerator-type"] == family.kind
    assert environment_for(offered[:2], {}, node_device_count=family.count)[vendor.variable] == family.value


@each_family
def test_the_familys_own_variable_restricts_what_is_offered(family: Family, machine: MadeMachine) -> None:
    family.add(machine)
    vendor = vendor_of(family.vendor)
    value, id = family.allows
    machine.variables[vendor.variable] = value
    detection = detect(machine)
    finding = detection.finding(family.vendor)
    assert finding.restricted_by == f"{vendor.variable}={value}"
    assert [device.id for device in finding.devices if device.offered] == [id]
    node = resolve_resources(detection, num_gpus=None, resources=None, environ=machine.environ)
    assert [(device.id, device.index) for device in node.devices[vendor.resource]] == [(id, 0)]


@each_family
def test_an_empty_variable_hides_everything_and_says_so(family: Family, machine: MadeMachine) -> None:
    family.add(machine)
    vendor = vendor_of(family.vendor)
    machine.variables[vendor.variable] = ""
    finding = detect(machine).finding(family.vendor)
    assert not any(device.offered for device in finding.devices)
    assert finding.restricted_by == f"{vendor.variable}="
    assert vendor.variable in (finding.advice or "")


@each_family
def test_a_machine_without_the_family_says_what_was_looked_for(family: Family, machine: MadeMachine) -> None:
    detection = detect(machine)
    finding = detection.finding(family.vendor)
    assert finding.devices == []
    assert not finding.asked
    assert finding.looked_for
    assert all(place in finding.reason for place in finding.looked_for)
    assert resolve_resources(detection, num_gpus=None, resources=None, environ={}).quantities == {}


@each_family
def test_a_broken_machine_gives_a_reason_and_no_device(family: Family, machine: MadeMachine) -> None:
    family.spoil(machine)
    finding = detect(machine).finding(family.vendor)
    assert finding.devices == []
    assert family.said in finding.reason


@each_family
def test_a_fraction_is_legal_for_gpu_and_npu_only(family: Family) -> None:
    resource = vendor_of(family.vendor).resource
    if resource in ("GPU", "NPU"):
        check_quantity(resource, 0.25)
        with pytest.raises(ValueError, match=r">1 must be whole numbers\. The specified quantity 1\.5 is invalid"):
            check_quantity(resource, 1.5)
    else:
        with pytest.raises(ValueError, match=rf"{resource}.*0\.25") as refusal:
            check_quantity(resource, 0.25)
        assert vendor_of(family.vendor).family.split()[0] in str(refusal.value)


@each_family
def test_more_than_the_variable_allows_is_refused_with_both_values(family: Family, machine: MadeMachine) -> None:
    family.add(machine)
    vendor = vendor_of(family.vendor)
    value, id = family.allows
    machine.variables[vendor.variable] = value
    detection = detect(machine)
    with pytest.raises(ValueError) as refusal:
        resolve_resources(detection, **asked(family, 2), environ=machine.environ)
    message = str(refusal.value)
    assert f"{vendor.variable}={value} allows 1 device ({id})" in message
    assert "num_gpus=2" in message or f"'{vendor.resource}': 2" in message


@each_family
def test_more_than_there_are_become_logical_devices(family: Family, machine: MadeMachine) -> None:
    family.add(machine)
    detection = detect(machine)
    node = resolve_resources(detection, **asked(family, family.count + 2), environ={})
    devices = node.devices[vendor_of(family.vendor).resource]
    assert [device.kind for device in devices[-3:]] == [DeviceKind.REAL, DeviceKind.LOGICAL, DeviceKind.LOGICAL]
    assert [device.id for device in devices] == [str(number) for number in range(family.count + 2)]
    assert {device.vendor for device in devices} == {family.vendor}


@each_family
def test_without_hardware_the_variables_entries_are_the_ids(family: Family, tmp_path: Path) -> None:
    vendor = vendor_of(family.vendor)
    environ = {vendor.variable: "1,3"}
    node = resolve_resources(detect(MadeMachine(tmp_path)), **asked(family, 2), environ=environ)
    devices = node.devices[vendor.resource]
    assert [device.id for device in devices] == ["1", "3"]
    assert {(device.vendor, device.kind) for device in devices} == {(family.vendor, DeviceKind.LOGICAL)}
    text = environment_for(devices, environ, node_device_count=2)[vendor.variable]
    assert text == ("level_zero:1,3" if family.vendor == "intel" else "1,3")


@each_family
@pytest.mark.parametrize("prefix", ["RAY_EXPERIMENTAL_NOSET_", "NBACCEL_NOSET_"])
def test_the_noset_switch_leaves_the_environment_alone(family: Family, prefix: str, tmp_path: Path) -> None:
    detection = detect(MadeMachine(tmp_path), simulate=f"{family.vendor}:2")
    node = resolve_resources(detection, num_gpus=None, resources=None, environ={})
    devices = node.devices[vendor_of(family.vendor).resource]
    vendor = vendor_of(family.vendor)
    for name in vendor.noset or [vendor.variable]:
        assert environment_for(devices[:1], {f"{prefix}{name}": "1"}, node_device_count=2) == {}
        assert environment_for(devices[:1], {f"{prefix}{name}": "0"}, node_device_count=2) != {}


@each_family
def test_a_simulated_family_goes_the_same_way_and_is_marked(family: Family, machine: MadeMachine) -> None:
    vendor = vendor_of(family.vendor)
    machine.variables["NBACCEL_SIMULATE"] = f"{family.vendor}:4"
    machine.variables[vendor.variable] = "1,2"
    detection = detect(machine)
    node = resolve_resources(detection, num_gpus=None, resources=None, environ=machine.environ)
    devices = node.devices[vendor.resource]
    assert [device.id for device in devices] == ["1", "2"]
    assert {device.kind for device in devices} == {DeviceKind.SIMULATED}
