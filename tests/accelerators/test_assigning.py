"""The variables a task starts with: its own devices, physical numbers, and no filter of anybody else's."""

from __future__ import annotations

from typing import Any

import pytest

from nbaccel.accelerators import (
    VENDORS,
    NodeDevices,
    RealMachine,
    detect,
    environment_for,
    hidden_environment,
    resolve_resources,
    vendor_of,
)
from nbaccel.accelerators.visibility import select


def offered(text: str, environ: dict[str, str] | None = None, **wish: Any) -> NodeDevices:
    environ = environ or {}
    detection = detect(RealMachine("/nonexistent", environ), simulate=text)
    return resolve_resources(detection, **{"num_gpus": None, "resources": None, "environ": environ, **wish})


def test_no_device_changes_nothing() -> None:
    assert environment_for([], {"CUDA_VISIBLE_DEVICES": "3"}, node_device_count=4) == {}


def test_devices_stand_in_the_order_of_the_node() -> None:
    devices = offered("nvidia:4xA100").devices["GPU"]
    assert environment_for(devices[::-1], {}, node_device_count=4) == {"CUDA_VISIBLE_DEVICES": "0,1,2,3"}


def test_an_amd_task_gets_physical_numbers_and_no_second_filter() -> None:
    environ = {"ROCR_VISIBLE_DEVICES": "1,3", "HIP_VISIBLE_DEVICES": "1"}
    (device,) = offered("amd:4xMI300X", environ).devices["GPU"]
    assert environment_for([device], environ, node_device_count=1) == {
        "ROCR_VISIBLE_DEVICES": "3",
        "HIP_VISIBLE_DEVICES": None,
        "CUDA_VISIBLE_DEVICES": None,
        "GPU_DEVICE_ORDINAL": None,
    }


def test_an_intel_task_gets_physical_numbers_and_no_mask() -> None:
    environ = {"ZE_AFFINITY_MASK": "1,3", "ONEAPI_DEVICE_SELECTOR": "level_zero:*"}
    devices = offered("intel:4xMax-1550", environ).devices["GPU"]
    assert environment_for(devices, environ, node_device_count=2) == {
        "ONEAPI_DEVICE_SELECTOR": "level_zero:1,3",
        "ZE_AFFINITY_MASK": None,
    }


@pytest.mark.parametrize(
    ("count", "of", "chips", "bounds"),
    [(1, 4, "0", "1,1,1"), (1, 1, "0", "1,1,1"), (2, 4, "0,1", "1,2,1"), (4, 8, "0,1,2,3", None)],
)
def test_a_part_of_a_tpu_host_gets_its_chips_and_their_bounds(
    count: int, of: int, chips: str, bounds: str | None
) -> None:
    devices = offered(f"tpu:{of}").devices["TPU"][:count]
    variables = environment_for(devices, {}, node_device_count=of)
    assert variables["TPU_VISIBLE_CHIPS"] == chips
    assert variables["TPU_CHIPS_PER_HOST_BOUNDS"] == bounds
    assert variables["TPU_HOST_BOUNDS"] == (bounds and "1,1,1")


@pytest.mark.parametrize("count", [2, 4, 8])
def test_a_whole_tpu_host_is_left_to_find_its_own_shape(count: int) -> None:
    devices = offered(f"tpu:{count}").devices["TPU"]
    stale = {"TPU_CHIPS_PER_HOST_BOUNDS": "1,1,1", "TPU_HOST_BOUNDS": "1,1,1"}
    variables = environment_for(devices, stale, node_device_count=count)
    assert variables == dict.fromkeys(["TPU_VISIBLE_CHIPS", "TPU_VISIBLE_DEVICES", *stale])


def test_all_chips_that_a_variable_left_are_not_the_whole_host() -> None:
    environ = {"TPU_VISIBLE_CHIPS": "2,3"}
    devices = offered("tpu:4", environ).devices["TPU"]
    assert environment_for(devices, environ, node_device_count=2)["TPU_VISIBLE_CHIPS"] == "2,3"


def test_all_chips_that_a_node_was_told_to_offer_are_not_the_whole_host() -> None:
    devices = offered("tpu:4", resources={"TPU": 2}).devices["TPU"]
    assert environment_for(devices, {}, node_device_count=2)["TPU_VISIBLE_CHIPS"] == "0,1"


def test_ascend_wants_its_list_rising() -> None:
    environ = {"ASCEND_RT_VISIBLE_DEVICES": "10,9,2"}
    devices = offered("ascend:12", environ).devices["NPU"]
    assert [one.id for one in devices] == ["10", "9", "2"]
    assert environment_for(devices, environ, node_device_count=3)["ASCEND_RT_VISIBLE_DEVICES"] == "2,9,10"


def test_a_logical_device_is_assigned_like_any_other() -> None:
    devices = resolve_resources(
        detect(RealMachine("/nonexistent", {})), num_gpus=2, resources=None, environ={}
    ).devices["GPU"]
    assert environment_for(devices[1:], {}, node_device_count=2) == {"CUDA_VISIBLE_DEVICES": "1"}


def test_hiding_covers_every_family_that_the_node_offers_and_no_other() -> None:
    hidden = hidden_environment(offered("nvidia:2,tpu:4"), {})
    assert {name for name, value in hidden.items() if value == ""} == {"CUDA_VISIBLE_DEVICES", "TPU_VISIBLE_CHIPS"}


def test_hiding_covers_gpus_of_a_node_that_offers_none_of_them() -> None:
    assert hidden_environment(offered("nvidia:2", num_gpus=0), {}) == {"CUDA_VISIBLE_DEVICES": ""}


def test_hiding_obeys_the_noset_switch() -> None:
    assert hidden_environment(offered("nvidia:2"), {"NBACCEL_NOSET_CUDA_VISIBLE_DEVICES": "true"}) == {}


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
def test_what_hides_a_family_is_read_back_as_nothing(vendor: Any) -> None:
    devices = [vendor.device(number) for number in range(3)]
    assert select(vendor, devices, {vendor.variable: vendor.hidden}).devices == []


@pytest.mark.parametrize("name", ["nvidia", "amd", "intel", "neuron", "gaudi", "ascend"])
def test_what_is_assigned_is_read_back_as_the_same_devices(name: str) -> None:
    """A head inside a task must offer what the task was given."""
    vendor = vendor_of(name)
    devices = offered(f"{name}:4").devices[vendor.resource]
    inside = {
        key: value for key, value in environment_for(devices[1:3], {}, node_device_count=4).items() if value is not None
    }
    again = offered(f"{name}:4", inside).devices[vendor.resource]
    assert [one.id for one in again] == ["1", "2"]
