"""What is odd about each of the other makers: numbers of several kinds, files of somebody else, tools that differ."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nbaccel.accelerators import Finding, detect, resolve_resources
from nbaccel.accelerators.amd import type_of as amd_type
from nbaccel.accelerators.ascend import parse_chips
from nbaccel.accelerators.gaudi import type_of as gaudi_type
from nbaccel.accelerators.tpu import type_of as tpu_type
from tests.accelerators.machines import (
    GIB,
    NPU_SMI,
    MadeMachine,
    add_amd,
    add_ascend,
    add_gaudi,
    add_intel,
    add_neuron,
    add_tpu,
)


def found(machine: MadeMachine, vendor: str) -> Finding:
    return detect(machine).finding(vendor)


def test_amd_cards_carry_uuid_memory_and_address(machine: MadeMachine) -> None:
    add_amd(machine)
    first, second = found(machine, "amd").devices
    assert (first.uuid, first.memory_bytes, first.address) == ("GPU-00000000abcd0000", 192 * GIB, "0000:10:00.0")
    assert (second.id, second.ordinal) == ("1", 1)


def test_amdsmi_gives_marketing_names_where_it_is_installed(machine: MadeMachine) -> None:
    add_amd(machine, 1)
    machine.modules["amdsmi"] = SimpleNamespace(
        amdsmi_init=lambda: None,
        amdsmi_shut_down=lambda: None,
        amdsmi_get_processor_handles=lambda: ["handle"],
        amdsmi_get_gpu_device_bdf=lambda handle: "0000:10:00.0",
        amdsmi_get_gpu_asic_info=lambda handle: {"market_name": "AMD Instinct MI300X OAM"},
    )
    assert [device.name for device in found(machine, "amd").devices] == ["AMD Instinct MI300X OAM"]


def test_an_amdsmi_that_throws_costs_only_the_names(machine: MadeMachine) -> None:
    add_amd(machine, 1)
    machine.modules["amdsmi"] = KeyError("ROCM_PATH")
    finding = found(machine, "amd")
    assert len(finding.devices) == 1
    assert finding.errors == ["amdsmi: 'ROCM_PATH'"]


def test_partitions_of_one_amd_card_are_not_told_by_a_uuid_that_they_share(machine: MadeMachine) -> None:
    add_amd(machine, 2)
    node = "/sys/class/kfd/kfd/topology/nodes/2/properties"
    machine.file(node, (machine.read(node) or "").replace(str(0xABCD0001), str(0xABCD0000)))
    devices = found(machine, "amd").devices
    assert [device.uuid for device in devices] == [None, None]
    assert len({device.lease_key for device in devices}) == 2


def test_an_integrated_amd_gpu_is_found_and_offered_only_when_asked_for(machine: MadeMachine) -> None:
    add_amd(machine, 1, device=0x164E, cores=16)
    detection = detect(machine)
    assert [(one.integrated, one.offered) for one in detection.finding("amd").devices] == [(True, False)]
    assert resolve_resources(detection, num_gpus=None, resources=None, environ={}).quantities == {}
    node = resolve_resources(
        detect(machine, gpu_vendor="amd"), num_gpus=None, resources=None, gpu_vendor="amd", environ={}
    )
    assert node.quantities == {"GPU": 1.0}


def test_cards_without_the_compute_driver_are_found_but_cannot_be_used(machine: MadeMachine) -> None:
    folder = machine.pci("0000:10:00.0", "0x1002", "0x744c")
    machine.file(f"{folder}/mem_info_vram_total", 24 * GIB)
    (device,) = found(machine, "amd").devices
    assert "no /dev/kfd" in (device.unavailable or "")
    assert not device.offered


def test_in_a_container_without_kfd_the_advice_names_the_devices_to_pass(machine: MadeMachine) -> None:
    machine.pci("0000:10:00.0", "0x1002", "0x74a1")
    machine.file("/.dockerenv")
    assert "--device /dev/kfd" in (found(machine, "amd").advice or "")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("AMD Instinct MI300X", "AMD-Instinct-MI300X-OAM"),
        ("AMD Instinct MI250X", "AMD-Instinct-MI250X"),
        ("MI210", "AMD-Instinct-MI210"),
        ("AMD Radeon RX 7900", None),
    ],
)
def test_an_amd_type_is_read_from_a_models_name(name: str, kind: str | None) -> None:
    assert amd_type(name) == kind


def test_intel_cards_come_before_the_integrated_gpu(machine: MadeMachine) -> None:
    add_intel(machine, 1, device="0x4680", integrated=True)
    add_intel(machine, 1)
    first, second = found(machine, "intel").devices
    assert (first.type, first.integrated, first.offered, first.ordinal) == ("Intel-GPU-Max-1550", False, True, 0)
    assert (second.type, second.integrated, second.offered, second.ordinal) == (None, True, False, 1)


def test_a_laptop_with_only_an_integrated_gpu_offers_none(machine: MadeMachine) -> None:
    add_intel(machine, 1, device="0x4680", integrated=True)
    detection = detect(machine)
    assert resolve_resources(detection, num_gpus=None, resources=None, environ={}).quantities == {}
    node = resolve_resources(detection, num_gpus=2, resources=None, environ={})
    assert [(one.vendor, one.id) for one in node.devices["GPU"]] == [("nvidia", "0"), ("nvidia", "1")]


def test_dpctl_names_are_taken_unless_a_variable_hides_devices_from_it(machine: MadeMachine) -> None:
    add_intel(machine, 1, device="0xffff")
    asked: list[dict[str, str]] = []

    def get_devices(**kinds: str) -> list[Any]:
        asked.append(kinds)
        return [SimpleNamespace(name="Intel(R) Data Center GPU Max 1100")]

    machine.modules["dpctl"] = SimpleNamespace(get_devices=get_devices)
    assert [one.type for one in found(machine, "intel").devices] == ["Intel-GPU-Max-1100"]
    machine.variables["ZE_AFFINITY_MASK"] = "0"
    assert [one.type for one in found(machine, "intel").devices] == [None]
    assert asked == [{"backend": "level_zero", "device_type": "gpu"}]


def test_an_intel_card_that_was_not_passed_into_the_container_cannot_be_used(machine: MadeMachine) -> None:
    add_intel(machine, 1)
    (machine.tree / "dev/dri/renderD160").unlink()
    (device,) = found(machine, "intel").devices
    assert "--device /dev/dri" in (device.unavailable or "")


def test_neuron_cores_are_numbered_through_the_devices(machine: MadeMachine) -> None:
    add_neuron(machine)
    cores = found(machine, "neuron").devices
    assert [(one.id, one.name) for one in cores] == [
        ("0", "NeuronCore 0 of device 0"),
        ("1", "NeuronCore 1 of device 0"),
        ("2", "NeuronCore 0 of device 1"),
        ("3", "NeuronCore 1 of device 1"),
    ]
    assert cores[0].memory_bytes == 16 * GIB


def test_the_tools_of_awss_images_are_no_sign_of_a_chip(machine: MadeMachine) -> None:
    machine.file("/opt/aws/neuron/bin/neuron-ls")
    assert not found(machine, "neuron").asked


@pytest.mark.parametrize(
    "printed", ["", "[{}]", '{"a": 1}', "[1, 2]", "null", '[{"nc_count": "x", "neuron_device": 0}]']
)
def test_a_neuron_ls_that_prints_nonsense_is_told(machine: MadeMachine, printed: str) -> None:
    machine.file("/dev/neuron0")
    machine.prints("neuron-ls", printed)
    finding = found(machine, "neuron")
    assert "not the list of devices" in finding.reason
    assert finding.advice


def test_a_machine_without_neuron_ls_says_what_to_install(machine: MadeMachine) -> None:
    machine.file("/dev/neuron0")
    finding = found(machine, "neuron")
    assert "cannot be run" in finding.reason
    assert "aws-neuronx-tools" in (finding.advice or "")


def test_accel_files_of_another_maker_are_no_tpu(machine: MadeMachine) -> None:
    add_gaudi(machine)
    machine.file("/dev/accel8")
    detection = detect(machine)
    assert not detection.finding("tpu").asked
    assert len(detection.finding("gaudi").devices) == 2


def test_tpu_chips_behind_vfio_are_verified_through_their_group(machine: MadeMachine) -> None:
    machine.file("/dev/vfio/3")
    machine.file("/dev/vfio/4")
    machine.file("/dev/vfio/vfio")
    machine.file("/sys/kernel/iommu_groups/3/devices/0000:00:05.0/vendor", "0x1ae0")
    machine.file("/sys/kernel/iommu_groups/4/devices/0000:00:06.0/vendor", "0x15b3")
    machine.pci("0000:00:05.0", "0x1ae0", "0x0063", "0x120000")
    (device,) = found(machine, "tpu").devices
    assert (device.type, device.address) == ("TPU-V5LITEPOD", "0000:00:05.0")


def test_gkes_environment_gives_type_labels_and_the_slices_resources(machine: MadeMachine) -> None:
    add_tpu(machine)
    machine.variables |= {
        "TPU_ACCELERATOR_TYPE": "v4-16",
        "TPU_NAME": "slice-a",
        "TPU_WORKER_ID": "0",
        "TPU_TOPOLOGY": "2x2x2",
    }
    node = resolve_resources(detect(machine), num_gpus=None, resources=None, environ={})
    assert node.resources == {"accelerator_type:TPU-V4": 1.0, "slice-a": 1.0, "TPU-v4-16-head": 1.0}
    assert node.labels == {
        "ray.io/accelerator-type": "TPU-V4",
        "ray.io/tpu-slice-name": "slice-a",
        "ray.io/tpu-worker-id": "0",
        "ray.io/tpu-topology": "2x2x2",
        "ray.io/tpu-pod-type": "v4-16",
    }


def test_the_metadata_server_tells_what_the_pci_id_leaves_open(machine: MadeMachine) -> None:
    add_tpu(machine, 1, device="0x0027")
    machine.metadata = {"accelerator-type": "v3-8", "agent-worker-number": "1", "instance-id": "pod-b"}
    detection = detect(machine)
    assert detection.finding("tpu").devices[0].type == "TPU-V3"
    assert detection.finding("tpu").extra_resources == {"pod-b": 1.0}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("v2-8", "TPU-V2"),
        ("v5litepod-8", "TPU-V5LITEPOD"),
        ("v5p-8", "TPU-V5P"),
        ("v6e-4", "TPU-V6E"),
        ("tpu7x-8", "TPU-V7X"),
    ],
)
def test_a_tpu_type_is_the_generation_of_its_slice(name: str, kind: str) -> None:
    assert tpu_type(name) == kind


def test_gaudi_processors_go_by_their_module_ids(machine: MadeMachine) -> None:
    add_gaudi(machine, (3, 1))
    devices = found(machine, "gaudi").devices
    assert [(one.id, one.address) for one in devices] == [("1", "0000:51:00.0"), ("3", "0000:50:00.0")]


def test_hl_smi_is_asked_where_sysfs_does_not_tell_module_ids(machine: MadeMachine) -> None:
    machine.pci("0000:50:00.0", "0x1da3", "0x1020", "0x120000")
    machine.prints(
        "hl-smi", "1, 01P0-HL2080, HL-225, 98304, 0000:51:00.0\n0, 01P0-HL2081, HL-225, 98304, 0000:50:00.0\n"
    )
    devices = found(machine, "gaudi").devices
    assert [(one.id, one.type, one.memory_bytes) for one in devices] == [
        ("0", "Intel-GAUDI2", 96 * GIB),
        ("1", "Intel-GAUDI2", 96 * GIB),
    ]


def test_the_habana_framework_is_asked_only_where_it_is_loaded_already(machine: MadeMachine) -> None:
    machine.pci("0000:50:00.0", "0x1da3", "0x1020", "0x120000")
    assert found(machine, "gaudi").devices == []
    machine.modules["loaded habana_frameworks.torch.hpu"] = SimpleNamespace(
        get_device_name=lambda: "GAUDI2", device_count=lambda: 2
    )
    assert [one.type for one in found(machine, "gaudi").devices] == ["Intel-GAUDI2"] * 2


def test_a_gaudi_that_its_driver_calls_broken_is_not_offered(machine: MadeMachine) -> None:
    add_gaudi(machine, (0, 1))
    machine.file("/sys/bus/pci/devices/0000:50:00.0/status", "disabled")
    first, second = found(machine, "gaudi").devices
    assert (first.offered, first.unavailable) == (False, "its driver says: disabled")
    assert second.offered


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("GAUDI", "Intel-GAUDI"),
        ("HL-205", "Intel-GAUDI"),
        ("HL-225", "Intel-GAUDI2"),
        ("HL-325L", "Intel-GAUDI3"),
        ("", None),
    ],
)
def test_a_gaudi_type_is_read_from_board_and_model_names(name: str, kind: str | None) -> None:
    assert gaudi_type(name) == kind


def test_npu_smis_table_is_read_and_its_processes_are_left_out() -> None:
    first, second = parse_chips(NPU_SMI)
    assert (first.card, first.chip, first.name, first.healthy, first.address) == (0, 0, "910B", "OK", "0000:c1:00.0")
    assert (first.power_watts, first.temperature_celsius, first.utilisation_percent) == (93.6, 36.0, 12.0)
    assert (first.memory_used_bytes, first.memory_total_bytes) == (4152 << 20, 65536 << 20)
    assert second.card == 1


def test_an_older_card_shows_its_memory_in_the_first_pair() -> None:
    text = "| 0     310P3  | OK  | NA    41     0    / 0  |\n| 0     0      | 0000:01:00.0 | 5   2000 / 44280 |\n"
    (chip,) = parse_chips(text)
    assert (chip.memory_used_bytes, chip.memory_total_bytes) == (2000 << 20, 44280 << 20)


def test_the_binding_acl_is_asked_where_npu_smi_is_missing(machine: MadeMachine) -> None:
    machine.file("/dev/davinci0")
    machine.modules["acl"] = SimpleNamespace(
        rt=SimpleNamespace(get_device_count=lambda: (2, 0)), get_soc_name=lambda: "Ascend910B4"
    )
    assert [one.type for one in found(machine, "ascend").devices] == ["Ascend910B4"] * 2


@pytest.mark.parametrize("printed", ["", "nonsense | 1 | 2 |", "| 0 | | |\n" * 3])
def test_device_files_are_counted_where_nothing_can_be_asked(machine: MadeMachine, printed: str) -> None:
    machine.file("/dev/davinci0")
    machine.file("/dev/davinci7")
    machine.prints("npu-smi", printed)
    finding = found(machine, "ascend")
    assert [one.id for one in finding.devices] == ["0", "7"]
    assert finding.errors == ["npu-smi: printed no table of chips"]


def test_a_sick_ascend_chip_is_not_offered(machine: MadeMachine) -> None:
    add_ascend(machine)
    machine.prints("npu-smi", NPU_SMI.replace("| OK            | 90.1", "| Alarm         | 90.1"))
    assert [one.offered for one in found(machine, "ascend").devices] == [True, False]
