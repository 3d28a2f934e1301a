"""NVIDIA GPUs through the real pynvml bindings, against an NVML compiled for these tests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbaccel.accelerators import Detection, Finding, environment_for, resolve_resources
from nbaccel.accelerators.nvidia import type_of
from tests.accelerators.fake_nvml import GIB, FakeNvml, Gpu

V100 = Gpu("GPU-v", "Tesla V100-SXM2-16GB", total=16 * GIB, bus="00000000:03:00.0")
A100 = Gpu("GPU-a", bus="00000000:01:00.0")


# Its clock stands still until the driver has come as far as the call that hangs.
WHEN_IT_HANGS = """
import itertools, os
ticks = itertools.count()
hangs = os.environ["NVML_STATE_FILE"] + ".hangs"
print(detect(machine, deadline_s=2, clock=lambda: os.path.exists(hangs) and next(ticks)).to_json())
"""


def detect(nvml: FakeNvml, deadline_s: float = 30, **variables: str) -> Detection:
    return Detection.from_json(nvml.run(f"print(detect(machine, deadline_s={deadline_s}).to_json())", **variables))


def found(nvml: FakeNvml, **variables: str) -> Finding:
    return detect(nvml, **variables).finding("nvidia")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Tesla V100-SXM2-16GB", "V100"),
        ("Tesla T4", "T4"),
        ("Tesla K80", "K80"),
        ("NVIDIA A100-SXM4-40GB", "A100"),
        ("NVIDIA A100 80GB PCIe", "A100"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "A100"),
        ("NVIDIA A10G", "A10G"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA GB200", "GB200"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000"),
        ("NVIDIA RTX A6000", "RTX-A6000"),
        ("NVIDIA GeForce RTX 5090", "GeForce-RTX-5090"),
        ("NVIDIA TITAN V", "TITAN-V"),
        ("", None),
    ],
)
def test_a_type_is_read_from_the_marketing_name(name: str, kind: str | None) -> None:
    assert type_of(name) == kind


def test_cards_are_found_each_with_its_own_type(nvml: FakeNvml) -> None:
    nvml.has(A100, V100)
    finding = found(nvml)
    facts = [(one.id, one.uuid, one.type, one.memory_bytes, one.address, one.offered) for one in finding.devices]
    assert facts == [
        ("0", "GPU-a", "A100", 40 * GIB, "0000:01:00.0", True),
        ("1", "GPU-v", "V100", 16 * GIB, "0000:03:00.0", True),
    ]
    assert (finding.errors, finding.asked, finding.late) == ([], True, False)


def test_mig_instances_are_the_devices_of_a_card_in_mig_mode(nvml: FakeNvml) -> None:
    sliced = Gpu("GPU-m", mig_mode="1")
    instances = [f"mig|1|MIG-{number}|NVIDIA A100-SXM4-40GB MIG 1g.5gb|{5 * GIB}|0" for number in (1, 2)]
    nvml.has(A100, sliced, instances[0], "mig|1||||", instances[1])
    finding = found(nvml)
    assert [(one.id, one.profile, one.parent, one.type, one.memory_bytes) for one in finding.devices] == [
        ("0", None, None, "A100", 40 * GIB),
        ("MIG-1", "1g.5gb", "GPU-m", "A100", 5 * GIB),
        ("MIG-2", "1g.5gb", "GPU-m", "A100", 5 * GIB),
    ]


def test_a_profile_without_a_name_is_read_from_the_instances_attributes(nvml: FakeNvml) -> None:
    nvml.has(Gpu("GPU-m", mig_mode="1"), f"mig|0|MIG-1|NVIDIA A100|{10 * GIB}|0")
    assert [one.profile for one in found(nvml).devices] == ["1g.10gb"]


def test_two_mig_instances_of_one_card_count_as_two_devices(nvml: FakeNvml) -> None:
    nvml.has(Gpu("GPU-m", mig_mode="1"), *(f"mig|0|MIG-{n}|NVIDIA A100 MIG 1g.5gb|{5 * GIB}|0" for n in (1, 2, 3)))
    environ = {"CUDA_VISIBLE_DEVICES": "MIG-3,MIG-1"}
    node = resolve_resources(detect(nvml, **environ), num_gpus=None, resources=None, environ=environ)
    assert [device.id for device in node.devices["GPU"]] == ["MIG-3", "MIG-1"]
    assert environment_for(node.devices["GPU"][:1], {}, node_device_count=2) == {"CUDA_VISIBLE_DEVICES": "MIG-3"}


@pytest.mark.parametrize("value", ["0", "GPU-m"])
def test_naming_a_card_in_mig_mode_means_its_instances(nvml: FakeNvml, value: str) -> None:
    nvml.has(Gpu("GPU-m", mig_mode="1"), *(f"mig|0|MIG-{n}|NVIDIA A100 MIG 1g.5gb|{5 * GIB}|0" for n in (1, 2)))
    offered = [one.id for one in found(nvml, CUDA_VISIBLE_DEVICES=value).devices if one.offered]
    assert offered == ["MIG-1", "MIG-2"]


def test_a_card_in_mig_mode_without_instances_is_no_device_and_says_why(nvml: FakeNvml) -> None:
    nvml.has(Gpu("GPU-m", mig_mode="1"))
    finding = found(nvml)
    assert finding.devices == []
    assert "MIG mode without an instance" in finding.reason


def test_a_card_whose_compute_mode_is_prohibited_is_found_but_not_offered(nvml: FakeNvml) -> None:
    nvml.has(Gpu("GPU-p", compute_mode=2), A100)
    detection = detect(nvml)
    assert [one.offered for one in detection.finding("nvidia").devices] == [False, True]
    node = resolve_resources(detection, num_gpus=None, resources=None, environ={})
    assert [(one.id, one.index) for one in node.devices["GPU"]] == [("1", 0)]
    with pytest.raises(ValueError, match=r"allows 1 device \(1\)\. 0 is left out: its compute mode is PROHIBITED"):
        resolve_resources(detection, num_gpus=2, resources=None, environ={"CUDA_VISIBLE_DEVICES": "0,1"})


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (9, "kernel driver is not loaded"),
        (4, "may not open the NVIDIA devices"),
        (18, "different versions"),
        (15, "fallen off the bus"),
        (999, "NVML does not start"),
    ],
)
def test_an_nvml_that_does_not_start_gives_its_reason_and_what_to_do(nvml: FakeNvml, status: int, said: str) -> None:
    nvml.has(A100, f"init|{status}")
    finding = found(nvml)
    assert said in finding.reason
    assert finding.devices == []
    assert finding.advice


def test_a_missing_library_is_told_from_a_missing_driver(nvml: FakeNvml) -> None:
    finding = found(nvml, LD_LIBRARY_PATH="/nonexistent")
    assert "libnvidia-ml.so.1 was not found" in finding.reason


def test_in_a_container_the_advice_is_to_pass_the_gpus_in(nvml: FakeNvml) -> None:
    (nvml.root / ".dockerenv").write_text("")
    nvml.has("init|9")
    assert "--gpus all" in (found(nvml).advice or "")


def test_a_driver_without_cards_says_so(nvml: FakeNvml) -> None:
    nvml.has()
    assert "shows no card" in found(nvml).reason


def test_a_count_that_fails_is_told(nvml: FakeNvml) -> None:
    nvml.has(A100, "count|999")
    assert "cannot count the cards" in found(nvml).reason


def test_a_card_that_fails_halfway_leaves_the_others_with_their_numbers(nvml: FakeNvml) -> None:
    nvml.has(A100, Gpu("GPU-x", status=15), V100)
    finding = found(nvml)
    assert [(one.id, one.uuid) for one in finding.devices] == [("0", "GPU-a"), ("2", "GPU-v")]
    assert [error.startswith("GPU 1: ") for error in finding.errors] == [True]


@pytest.mark.parametrize("function", ["nvmlDeviceGetComputeMode", "nvmlDeviceGetMigMode", "nvmlDeviceGetPciInfo"])
def test_a_fact_that_a_driver_does_not_tell_does_not_cost_the_card(nvml: FakeNvml, function: str) -> None:
    nvml.has(A100, f"fail|{function}|3")
    assert [one.uuid for one in found(nvml).devices] == ["GPU-a"]


@pytest.mark.parametrize("function", ["nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetName"])
def test_an_nvml_that_hangs_is_unknown_after_the_deadline_and_names_the_call(nvml: FakeNvml, function: str) -> None:
    nvml.has(A100, f"hang|{function}")
    finding = Detection.from_json(nvml.run(WHEN_IT_HANGS)).finding("nvidia")
    named = "NVML about GPU 0" if function == "nvmlDeviceGetName" else function
    assert finding.reason == f"unknown: {named} has not answered for 2 s."
    assert finding.late


def on_mixed_cards(nvml: FakeNvml, environ: dict[str, str], **wish: Any) -> Any:
    nvml.has(V100, A100)
    return resolve_resources(
        detect(nvml, **environ), **{"num_gpus": None, "resources": None, "environ": environ, **wish}
    )


def test_on_mixed_cards_uuids_are_passed_because_cuda_counts_by_speed(nvml: FakeNvml) -> None:
    node = on_mixed_cards(nvml, {})
    assert [device.id for device in node.devices["GPU"]] == ["0", "1"]
    assert environment_for(node.devices["GPU"], {}, node_device_count=2) == {"CUDA_VISIBLE_DEVICES": "GPU-v,GPU-a"}


def test_on_mixed_cards_in_bus_order_indexes_are_passed(nvml: FakeNvml) -> None:
    node = on_mixed_cards(nvml, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
    assert environment_for(node.devices["GPU"], {}, node_device_count=2) == {"CUDA_VISIBLE_DEVICES": "0,1"}


def test_on_mixed_cards_a_preset_index_is_passed_as_it_stands_and_its_card_is_unknown(nvml: FakeNvml) -> None:
    node = on_mixed_cards(nvml, {"CUDA_VISIBLE_DEVICES": "0"})
    (device,) = node.devices["GPU"]
    assert (device.id, device.visible_value, device.type, device.uuid) == ("0", "0", None, None)
    assert "accelerator_type:V100" not in node.quantities
    assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in node.notes[0]


def test_on_mixed_cards_a_preset_uuid_is_that_card(nvml: FakeNvml) -> None:
    (device,) = on_mixed_cards(nvml, {"CUDA_VISIBLE_DEVICES": "GPU-a"}).devices["GPU"]
    assert (device.id, device.visible_value, device.type) == ("GPU-a", "GPU-a", "A100")


def test_each_type_of_a_mixed_machine_is_a_resource_and_the_first_is_the_label(nvml: FakeNvml) -> None:
    node = on_mixed_cards(nvml, {})
    assert node.resources == {"accelerator_type:V100": 1.0, "accelerator_type:A100": 1.0}
    assert node.labels == {"ray.io/accelerator-type": "V100"}


def test_a_list_of_indexes_and_uuids_becomes_one_of_uuids(nvml: FakeNvml) -> None:
    nvml.has(A100, Gpu("GPU-b"))
    environ = {"CUDA_VISIBLE_DEVICES": "GPU-b,0"}
    node = resolve_resources(detect(nvml, **environ), num_gpus=None, resources=None, environ=environ)
    assert [device.id for device in node.devices["GPU"]] == ["GPU-b", "0"]
    assert environment_for(node.devices["GPU"], {}, node_device_count=2) == {"CUDA_VISIBLE_DEVICES": "GPU-b,GPU-a"}


def test_signs_without_the_bindings_say_what_to_install(nvml: FakeNvml) -> None:
    program = "import sys\nsys.modules['pynvml'] = None\nprint(detect(machine).to_json())"
    finding = Detection.from_dict(json.loads(nvml.run(program))).finding("nvidia")
    assert "nvidia-ml-py is not installed" in finding.reason


def test_sixteen_devices_of_two_families_are_all_found(nvml: FakeNvml) -> None:
    nvml.has(*(Gpu(f"GPU-{number}") for number in range(8)))
    program = (
        "from pathlib import Path\n"
        "from tests.accelerators.machines import MadeMachine, add_amd\n"
        f"made = MadeMachine(Path({str(nvml.root)!r}))\n"
        "made.file('/proc/driver/nvidia/version')\n"
        "add_amd(made, 8)\n"
        "import pynvml\n"
        "made.modules['pynvml'] = pynvml\n"
        "print(detect(made).to_json())"
    )
    detection = Detection.from_json(nvml.run(program))
    assert [len(detection.finding(vendor).devices) for vendor in ("nvidia", "amd")] == [8, 8]
    assert [device.offered for device in detection.devices] == [True] * 8 + [False] * 8
    assert detection.gpu_vendor == "nvidia"
