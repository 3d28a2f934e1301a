"""What `nbaccel devices` and `nbaccel doctor` say."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbaccel.accelerators import detect, resolve_resources
from nbaccel.accelerators.metrics import DeviceReading
from nbaccel.accelerators.report import COLUMNS, absent, as_text, describe, devices, doctor, unoffered
from tests.accelerators.machines import GIB, MadeMachine, add_amd, add_intel, add_neuron


def sentence(machine: MadeMachine, vendor: str) -> str:
    return next(one.sentence for one in describe(detect(machine)).families if one.vendor == vendor)


def test_a_machine_with_nothing_tells_what_was_looked_for_and_what_to_try(machine: MadeMachine) -> None:
    text = doctor(machine)
    (folded,) = [line for line in text.splitlines() if "/dev/nvidia*" in line]
    assert folded.startswith("  No sign of: NVIDIA GPU (/dev/nvidia*), AMD GPU (/dev/kfd), ")
    assert folded.endswith("Huawei Ascend NPU (/dev/davinci*).")
    assert "nbaccel.init(num_gpus=2)" in text
    assert 'simulate="nvidia:2xA100"' in text


def test_found_devices_are_named_and_offered(machine: MadeMachine) -> None:
    add_amd(machine)
    assert sentence(machine, "amd") == "AMD GPU: 2 found: AMD Instinct MI300X OAM; offered as GPU."
    assert "@nbaccel.remote(num_gpus=1)" in doctor(machine)


def test_the_verdict_comes_first_and_families_without_a_sign_share_a_line(machine: MadeMachine) -> None:
    assert doctor(machine).splitlines()[0] == "No accelerator can be used: tasks run on CPUs."
    add_amd(machine)
    lines = doctor(machine).splitlines()
    assert lines[0] == "2 GPUs can be used."
    (folded,) = [line for line in lines if line.startswith("  No sign of: NVIDIA GPU, Intel GPU, ")]
    assert folded.endswith("Huawei Ascend NPU.") and "AMD" not in folded


def test_a_family_with_a_sign_has_its_own_line_where_nothing_can_be_used(machine: MadeMachine) -> None:
    machine.file("/dev/neuron0")
    machine.tool("neuron-ls", "echo 'no such device' >&2; exit 2")
    lines = doctor(machine).splitlines()
    assert sum(line.startswith("  AWS Neuron core: ") for line in lines) >= 1
    (folded,) = [line for line in lines if line.startswith("  No sign of: ")]
    assert "AWS Neuron" not in folded and "NVIDIA GPU" in folded


def test_other_resources_are_asked_for_by_name(machine: MadeMachine) -> None:
    add_neuron(machine)
    assert "@nbaccel.remote(resources={'neuron_cores': 1})" in doctor(machine)


@pytest.mark.parametrize(
    ("value", "said"),
    [("1", "ROCR_VISIBLE_DEVICES=1 leaves 1 (1)."), ("", "ROCR_VISIBLE_DEVICES, set to empty, leaves 0.")],
)
def test_a_restricting_variable_is_named_with_what_it_leaves(machine: MadeMachine, value: str, said: str) -> None:
    add_amd(machine)
    machine.variables["ROCR_VISIBLE_DEVICES"] = value
    assert sentence(machine, "amd").endswith(said)


def test_devices_of_another_maker_say_how_to_get_them(machine: MadeMachine) -> None:
    add_amd(machine)
    add_intel(machine)
    assert "GPU means AMD GPUs on this node; init(gpu_vendor='intel')" in sentence(machine, "intel")
    notes = [row.note for row in describe(detect(machine)).devices]
    assert notes[:2] == ["", ""]
    assert all("init(gpu_vendor='intel')" in note for note in notes[2:])


def test_an_integrated_gpu_says_how_to_get_it(machine: MadeMachine) -> None:
    add_intel(machine, 1, device="0x4680", integrated=True)
    assert "integrated: offered only with init(gpu_vendor='intel')" in sentence(machine, "intel")


def test_what_went_wrong_and_what_to_do_stand_in_the_text(machine: MadeMachine) -> None:
    machine.file("/dev/neuron0")
    machine.tool("neuron-ls", "echo 'no such device' >&2; exit 2")
    text = doctor(machine, log_errors=["11:02 worker 4711 died of SIGSEGV"])
    assert "AWS Neuron core: neuron-ls: no such device (exit status 2)" in text
    assert "aws-neuronx-tools" in text
    assert "11:02 worker 4711 died of SIGSEGV" in text


def test_a_variable_with_a_slip_is_told(machine: MadeMachine) -> None:
    add_amd(machine)
    machine.variables["ROCR_VISIBLE_DEVICES"] = "0,9"
    assert "names 9, but there is no such AMD GPU here" in doctor(machine)


def test_holders_and_foreign_processes_are_shown_with_the_device(machine: MadeMachine) -> None:
    add_amd(machine)
    detection = detect(machine)
    first, second = detection.devices
    held = {first.lease_key: "held by notebook analysis.ipynb, pid 4711"}
    metrics = {second.lease_key: DeviceReading(processes=[(99, 3 * GIB), (100, None)])}
    text = as_text(describe(detection, held, metrics))
    assert "AMD GPU 0: held by notebook analysis.ipynb, pid 4711" in text
    assert "AMD GPU 1: pid 99 uses 3 GiB, pid 100 uses an unknown amount" in text


def test_doctor_measures_the_real_devices_itself(machine: MadeMachine) -> None:
    add_amd(machine)
    machine.file("/sys/class/kfd/kfd/proc/4711/vram_5000", 1 << 30)
    assert "AMD GPU 0: pid 4711 uses 1 GiB" in doctor(machine)


def test_rows_have_every_column_and_are_plain_json(machine: MadeMachine) -> None:
    add_amd(machine, 1)
    (row,) = devices(machine)
    assert set(COLUMNS) <= set(row)
    assert (row["id"], row["type"], row["memory"], row["offered"]) == ("0", "AMD-Instinct-MI300X-OAM", "192 GiB", True)
    assert row["kind"] == "real"


def test_simulated_devices_are_marked(tmp_path: Path) -> None:
    machine = MadeMachine(tmp_path)
    (row,) = devices(machine, simulate="tpu:1")
    assert (row["note"], row["kind"]) == ("simulated", "simulated")
    assert "1 found (simulated)" in doctor(machine, simulate="tpu:1")


def test_what_a_node_lacks_is_told_by_resource(machine: MadeMachine) -> None:
    add_amd(machine, 3)
    machine.pci("0000:20:00.0", "0x8086", "0x0bd5")
    machine.variables["ROCR_VISIBLE_DEVICES"] = "1"
    detection = detect(machine)
    node = resolve_resources(detection, num_gpus=None, resources=None, environ=machine.environ)
    missing = absent(detection, node)
    assert list(missing) == ["GPU"]
    assert "AMD GPU 0, 2: hidden by ROCR_VISIBLE_DEVICES=1" in missing["GPU"]
    assert "neither i915 nor xe drives it" in missing["GPU"]


def test_devices_that_init_left_out_are_told(machine: MadeMachine) -> None:
    add_amd(machine, 2)
    detection = detect(machine)
    node = resolve_resources(detection, num_gpus=1, resources=None, environ={})
    assert [(device.id, why) for device, why in unoffered(detection, node)] == [
        ("1", "not offered: this node was started with 1 GPU")
    ]
