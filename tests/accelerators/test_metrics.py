"""How full and busy devices are, and why it is not known where it is not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbaccel.accelerators import RealMachine, detect
from nbaccel.accelerators.metrics import FIELDS, DeviceReading, Sampler, sample
from tests.accelerators.fake_nvml import GIB, FakeNvml, Gpu
from tests.accelerators.machines import MadeMachine, add_amd, add_ascend, add_gaudi, add_intel, add_neuron, add_tpu

SAMPLE = """
import json
from pathlib import Path
from nbaccel.accelerators.metrics import Sampler
devices = detect(machine).devices
with Sampler(machine) as sampler:
    rounds = [[one.to_dict() for one in sampler.sample(devices)]]
    for state in STATES:
        Path(STATE).write_text(state)
        rounds.append([one.to_dict() for one in sampler.sample(devices)])
print(json.dumps(rounds))
"""


def sampled(nvml: FakeNvml, *states: str) -> list[list[DeviceReading]]:
    """Samples by one sampler in a child: as the state stands now, then after each further state."""
    program = f"STATES = {list(states)!r}\nSTATE = {str(nvml.state)!r}\n{SAMPLE}"
    rounds: list[list[dict[str, Any]]] = json.loads(nvml.run(program))
    return [[DeviceReading.from_dict(one) for one in each] for each in rounds]


def test_nvml_tells_all_of_a_card_and_memory_is_bytes_in_use(nvml: FakeNvml) -> None:
    nvml.has(Gpu("GPU-a", used=3 * GIB), "process|GPU-a|4711|1048576", "process|GPU-a|4712|2097152")
    ((metrics,),) = sampled(nvml)
    assert (metrics.utilisation_percent, metrics.temperature_celsius, metrics.power_watts) == (37.0, 51.0, 123.0)
    assert (metrics.memory_used_bytes, metrics.memory_total_bytes) == (3 * GIB, 40 * GIB)
    assert metrics.processes == [(4711, 1048576), (4712, 2097152)]
    assert (metrics.reasons, metrics.lost) == ({}, None)


def test_an_older_driver_tells_memory_with_what_it_keeps_for_itself(nvml: FakeNvml) -> None:
    nvml.has(Gpu("GPU-a", used=3 * GIB), "fail|nvmlDeviceGetMemoryInfo_v2|13")
    ((metrics,),) = sampled(nvml)
    assert metrics.memory_used_bytes == 3 * GIB + (512 << 20)


def test_a_mig_instance_has_memory_of_its_own_and_nothing_of_its_card(nvml: FakeNvml) -> None:
    nvml.has(Gpu("GPU-m", mig_mode="1"), f"mig|0|MIG-1|NVIDIA A100 MIG 1g.5gb|{5 * GIB}|{GIB}", "process|MIG-1|9|77")
    ((metrics,),) = sampled(nvml)
    assert (metrics.memory_used_bytes, metrics.memory_total_bytes, metrics.processes) == (GIB, 5 * GIB, [(9, 77)])
    assert metrics.utilisation_percent is None
    assert "whole card" in metrics.reasons["utilisation_percent"]


def test_memory_that_nvml_does_not_tell_for_a_process_is_unknown(nvml: FakeNvml) -> None:
    nvml.has(Gpu("GPU-a"), "process|GPU-a|9|-1")
    ((metrics,),) = sampled(nvml)
    assert metrics.processes == [(9, None)]


def test_what_a_card_does_not_support_is_none_with_a_reason(nvml: FakeNvml) -> None:
    nvml.has(Gpu("GPU-a"), "fail|nvmlDeviceGetPowerUsage|3")
    ((metrics,),) = sampled(nvml)
    assert metrics.power_watts is None
    assert metrics.reasons == {"power_watts": "NVML: Not Supported."}
    assert metrics.lost is None


def test_a_card_that_falls_off_the_bus_is_lost_and_the_others_are_not(nvml: FakeNvml) -> None:
    nvml.has(Gpu("GPU-a"), Gpu("GPU-b"))
    healthy, gone = nvml.state.read_text(), f"{Gpu('GPU-a').line()}\n{Gpu('GPU-b', status=15).line()}\n"
    before, during, still, after = sampled(nvml, gone, gone, healthy)
    assert [one.lost for one in before + after] == [None] * 4
    for later in (during, still):
        assert later[0].lost is None
        assert "GPU is lost" in (later[1].lost or "")
        assert set(later[1].reasons) == set(FIELDS)


def test_an_nvml_that_does_not_start_any_more_is_a_reason(nvml: FakeNvml) -> None:
    nvml.has(Gpu("GPU-a"))
    program = (
        "from pathlib import Path\nfrom nbaccel.accelerators.metrics import sample\n"
        f"devices = detect(machine).devices\nPath({str(nvml.state)!r}).write_text('init|9\\n')\n"
        "print(sample(devices, machine)[0].reasons['memory_used_bytes'])"
    )
    assert nvml.run(program) == "NVML does not start: Driver Not Loaded.\n"


def test_amd_metrics_come_from_the_drivers_files(machine: MadeMachine) -> None:
    add_amd(machine)
    machine.file("/sys/class/kfd/kfd/proc/4711/vram_5001", 123456)
    machine.file("/sys/class/kfd/kfd/proc/4712/vram_5001", 0)
    first, second = sample(detect(machine).devices, machine)
    assert (first.utilisation_percent, first.temperature_celsius, first.power_watts) == (42.0, 61.0, 250.0)
    assert (first.memory_used_bytes, first.memory_total_bytes) == (3 * GIB, 192 * GIB)
    assert (first.processes, second.processes) == ([], [(4711, 123456)])


def test_a_card_that_leaves_the_pci_bus_is_lost(machine: MadeMachine) -> None:
    add_amd(machine)
    devices = detect(machine).devices
    (machine.tree / "sys/bus/pci/devices/0000:11:00.0").rename(machine.tree / "elsewhere")
    first, second = sample(devices, machine)
    assert first.lost is None
    assert second.lost == "AMD GPU 1 is not on the PCI bus any more (0000:11:00.0)."


def test_intel_power_is_what_the_energy_counter_gained_between_two_samples(machine: MadeMachine) -> None:
    add_intel(machine, 1)
    devices = detect(machine).devices
    with Sampler(machine) as sampler:
        (first,) = sampler.sample(devices)
        machine.file("/sys/bus/pci/devices/0000:20:00.0/hwmon/hwmon1/energy1_input", 9_000_000)
        (second,) = sampler.sample(devices)
    assert first.power_watts is None
    assert second.power_watts is not None
    assert second.power_watts > 0
    assert (second.memory_used_bytes, second.temperature_celsius) == (8 * GIB, 45.0)
    assert "no load in sysfs" in second.reasons["utilisation_percent"]


def test_neuron_memory_is_read_for_each_core(machine: MadeMachine) -> None:
    add_neuron(machine)
    metrics = sample(detect(machine).devices, machine)
    assert [one.memory_used_bytes for one in metrics] == [None, None, None, 4096]
    assert "neuron-monitor" in metrics[0].reasons["memory_used_bytes"]
    assert metrics[0].memory_total_bytes == 16 * GIB


def test_gaudi_metrics_come_from_one_table_for_all(machine: MadeMachine) -> None:
    add_gaudi(machine, (0, 1))
    devices = detect(machine).devices
    machine.prints("hl-smi", "0, 12 %, 1024 MiB, 98304 MiB, 33, 101 W\n1, N/A, 2048, 98304, 34, N/A\n")
    first, second = sample(devices, machine)
    assert (first.utilisation_percent, first.memory_used_bytes, first.power_watts) == (12.0, GIB, 101.0)
    assert (second.utilisation_percent, second.memory_used_bytes, second.power_watts) == (None, 2 * GIB, None)
    assert second.reasons["power_watts"] == "hl-smi does not tell it."


def test_a_device_that_its_tool_does_not_list_any_more_is_lost(machine: MadeMachine) -> None:
    add_gaudi(machine, (0, 1))
    devices = detect(machine).devices
    machine.prints("hl-smi", "0, 12, 1024, 98304, 33, 101\n")
    first, second = sample(devices, machine)
    assert first.lost is None
    assert second.lost == "hl-smi does not list Intel Gaudi 1 any more."


def test_a_tool_that_fails_loses_no_device(machine: MadeMachine) -> None:
    add_gaudi(machine, (0,))
    devices = detect(machine).devices
    machine.tool("hl-smi", "echo 'driver busy' >&2; exit 1")
    (metrics,) = sample(devices, machine)
    assert metrics.lost is None
    assert metrics.reasons["memory_used_bytes"] == "hl-smi: driver busy (exit status 1)."


def test_ascend_metrics_come_from_one_table_for_all(machine: MadeMachine) -> None:
    add_ascend(machine)
    first, second = sample(detect(machine).devices, machine)
    assert (first.utilisation_percent, first.power_watts, first.temperature_celsius) == (12.0, 93.6, 36.0)
    assert second.memory_used_bytes == 3370 << 20


def test_tpu_chips_say_who_could_tell(machine: MadeMachine) -> None:
    add_tpu(machine, 1)
    (metrics,) = sample(detect(machine).devices, machine)
    assert set(metrics.reasons) == set(FIELDS)
    assert "libtpu" in metrics.reasons["memory_used_bytes"]


def test_devices_that_are_not_there_are_not_measured() -> None:
    machine = RealMachine("/nonexistent", {})
    (metrics,) = sample(detect(machine, simulate="nvidia:1").devices, machine)
    assert metrics.reasons == dict.fromkeys(FIELDS, "the device is simulated: there is nothing to measure.")


def test_one_vendors_trouble_leaves_the_others_alone(machine: MadeMachine) -> None:
    add_amd(machine, 1)
    devices = detect(machine).devices
    broken = detect(machine, simulate="nvidia:1").devices[0]
    real = broken.from_dict({**broken.to_dict(), "kind": "real"})
    first, second = sample([real, *devices], machine)
    assert "asking failed: ImportError" in first.reasons["memory_used_bytes"]
    assert second.utilisation_percent == 42.0


@pytest.mark.parametrize("add", [add_amd, add_intel, add_neuron, add_tpu, add_gaudi, add_ascend])
def test_every_field_of_every_family_has_a_value_or_a_reason(machine: MadeMachine, add: Any) -> None:
    add(machine)
    for metrics in sample(detect(machine).devices, machine):
        for name in FIELDS:
            assert (getattr(metrics, name) is None) == (name in metrics.reasons)
        assert DeviceReading.from_dict(json.loads(json.dumps(metrics.to_dict()))) == metrics
