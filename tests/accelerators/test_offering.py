"""What a node offers of what was found and what was asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbaccel.accelerators import Detection, DeviceKind, NodeDevices, RealMachine, detect, resolve_resources
from nbaccel.accelerators.offering import MOST_DEVICES
from tests.accelerators.machines import MadeMachine

EMPTY = Detection.from_json(detect(RealMachine("/nonexistent", {})).to_json())


def node(detection: Detection = EMPTY, **wish: Any) -> NodeDevices:
    return resolve_resources(detection, **{"num_gpus": None, "resources": None, "environ": {}, **wish})


def simulated(text: str, **wish: Any) -> NodeDevices:
    return node(detect(RealMachine("/nonexistent", {}), simulate=text), **wish)


def test_a_laptop_may_count_gpus_that_it_does_not_have() -> None:
    devices = node(num_gpus=2).devices["GPU"]
    assert [(one.id, one.index, one.vendor, one.kind) for one in devices] == [
        ("0", 0, "nvidia", DeviceKind.LOGICAL),
        ("1", 1, "nvidia", DeviceKind.LOGICAL),
    ]


def test_logical_devices_have_no_type() -> None:
    offered = node(num_gpus=2)
    assert (offered.quantities, offered.labels) == ({"GPU": 2.0}, {})


def test_logical_devices_have_the_type_of_a_family_that_has_only_one() -> None:
    offered = node(resources={"neuron_cores": 2})
    assert offered.quantities == {"neuron_cores": 2.0, "accelerator_type:aws-neuron-core": 1.0}


def test_a_visible_variable_gives_logical_devices_its_ids() -> None:
    offered = node(num_gpus=2, environ={"CUDA_VISIBLE_DEVICES": "1,3"})
    assert [one.id for one in offered.devices["GPU"]] == ["1", "3"]


def test_fewer_than_the_variable_allows_take_its_first() -> None:
    offered = node(num_gpus=1, environ={"CUDA_VISIBLE_DEVICES": "3,1"})
    assert [one.id for one in offered.devices["GPU"]] == ["3"]


def test_more_than_the_variable_allows_is_refused_naming_both_values() -> None:
    with pytest.raises(ValueError) as refusal:
        node(num_gpus=4, environ={"CUDA_VISIBLE_DEVICES": "1,3"})
    assert str(refusal.value) == (
        "init asked for num_gpus=4, but CUDA_VISIBLE_DEVICES=1,3 allows 2 devices (1, 3). "
        "Ask for at most 2, or unset or widen CUDA_VISIBLE_DEVICES before starting."
    )


@pytest.mark.parametrize("value", ["", "-1", "NoDevFiles", "1;3"])
def test_a_variable_that_allows_nothing_leaves_nothing_to_count(value: str) -> None:
    with pytest.raises(ValueError, match="allows 0 devices"):
        node(num_gpus=1, environ={"CUDA_VISIBLE_DEVICES": value})
    assert node(environ={"CUDA_VISIBLE_DEVICES": value}).quantities == {}
    assert node(num_gpus=0, environ={"CUDA_VISIBLE_DEVICES": value}).quantities == {}


def test_a_malformed_variable_is_explained_in_the_refusal() -> None:
    with pytest.raises(ValueError, match=r"'1;3' is neither an index nor a UUID.*Write 1,3"):
        node(num_gpus=2, environ={"CUDA_VISIBLE_DEVICES": "1;3"})


def test_a_variable_alone_makes_no_devices() -> None:
    assert node(environ={"CUDA_VISIBLE_DEVICES": "0,1"}).quantities == {}


def test_another_makers_variable_tells_which_make_is_counted() -> None:
    offered = node(num_gpus=2, environ={"ROCR_VISIBLE_DEVICES": "1,3"})
    assert [(one.vendor, one.id) for one in offered.devices["GPU"]] == [("amd", "1"), ("amd", "3")]


@pytest.mark.parametrize("quantity", [0.5, 1.5, -1, float("nan"), float("inf")])
def test_a_node_has_whole_devices(quantity: float) -> None:
    with pytest.raises(ValueError, match="counted whole"):
        node(num_gpus=quantity)
    with pytest.raises(ValueError, match=r"resources=\{'TPU': "):
        node(resources={"TPU": quantity})


def test_a_number_of_devices_that_nobody_has_is_refused() -> None:
    with pytest.raises(ValueError, match=f"{MOST_DEVICES} devices are the most"):
        node(num_gpus=1e12)


def test_zero_offers_none_of_what_is_there() -> None:
    offered = simulated("nvidia:4xA100", num_gpus=0)
    assert offered.devices == {"GPU": []}
    assert (offered.quantities, offered.gpu_vendor) == ({}, "nvidia")


def test_fewer_than_there_are_take_the_first() -> None:
    assert [one.id for one in simulated("nvidia:4xA100", num_gpus=2).devices["GPU"]] == ["0", "1"]


def test_resources_of_other_families_become_their_devices() -> None:
    offered = node(resources={"TPU": 2, "HPU": 1, "licence": 3})
    assert {name: [one.id for one in devices] for name, devices in offered.devices.items()} == {
        "TPU": ["0", "1"],
        "HPU": ["0"],
    }


def test_types_and_labels_come_from_what_is_offered_only() -> None:
    environ = {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    offered = simulated("nvidia:1xA100,nvidia:1xT4,amd:1xMI300X,tpu:1", environ=environ)
    assert offered.resources == {"accelerator_type:T4": 1.0, "accelerator_type:TPU-V4": 1.0}
    assert offered.labels == {"ray.io/accelerator-type": "T4"}


def test_notes_say_what_was_ignored_of_a_variable() -> None:
    offered = simulated("nvidia:2xA100", environ={"CUDA_VISIBLE_DEVICES": "1,7"})
    assert [one.id for one in offered.devices["GPU"]] == ["1"]
    assert any("names 7" in note for note in offered.notes)


def test_devices_from_mig_never_share_a_number_with_logical_ones(tmp_path: Path) -> None:
    detection = detect(MadeMachine(tmp_path), simulate="nvidia:2xA100:1g.5gb")
    offered = node(detection, num_gpus=3)
    assert [one.kind.value for one in offered.devices["GPU"]] == ["simulated", "simulated", "logical"]
    assert len({one.id for one in offered.devices["GPU"]}) == 3


@given(
    physical=st.integers(0, 6),
    asked=st.none() | st.integers(0, 9),
    visible=st.none() | st.lists(st.integers(0, 8), unique=True, max_size=6),
)
def test_a_node_never_has_more_than_the_variable_allows_nor_fewer_than_it_promised(
    physical: int, asked: int | None, visible: list[int] | None
) -> None:
    environ = {} if visible is None else {"CUDA_VISIBLE_DEVICES": ",".join(map(str, visible))}
    machine = RealMachine("/nonexistent", {})
    detection = detect(machine, simulate=f"nvidia:{physical}xA100") if physical else EMPTY
    try:
        devices = node(detection, num_gpus=asked, environ=environ).devices.get("GPU", [])
    except ValueError as refusal:
        assert visible is not None
        assert asked is not None
        assert f"num_gpus={asked}" in str(refusal)
        assert str(refusal).count("CUDA_VISIBLE_DEVICES=") >= 1
        return
    assert asked is None or len(devices) == asked
    assert visible is None or {int(one.id) for one in devices} <= set(visible)
    assert [one.index for one in devices] == list(range(len(devices)))
    assert len({one.id for one in devices}) == len(devices)
