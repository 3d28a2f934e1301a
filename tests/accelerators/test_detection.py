"""Finding all families at once: nothing is asked where there is nothing, and nobody waits for one that hangs."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from nbaccel.accelerators import (
    VENDORS,
    Completed,
    Detection,
    NodeDevices,
    detect,
    detections,
    evidence,
    resolve_resources,
    unknown_detection,
)
from tests.accelerators.machines import MadeMachine, add_amd, add_ascend, add_gaudi, add_intel, add_neuron, add_tpu
from tests.rig import DEADLINE_S


class HangingMachine(MadeMachine):
    """Its tools answer when the test says so; its clock stands still until only they have not answered."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked = threading.Event()
        self.released = threading.Event()
        self._ticks = itertools.count(1)

    def run(self, command: Sequence[str], timeout_s: float) -> Completed:
        self.asked.set()
        self.released.wait(600)
        return super().run(command, timeout_s)

    def clock(self) -> float:
        asking = [thread for thread in threading.enumerate() if thread.name.startswith("nbaccel probe ")]
        return 1000.0 * next(self._ticks) if self.asked.is_set() and len(asking) == 1 else 0.0


class OnlyFiles(MadeMachine):
    """Anything but a look at files is a mistake here."""

    def run(self, command: Sequence[str], timeout_s: float) -> Completed:
        raise AssertionError(f"ran {command}")

    def import_module(self, name: str) -> Any:
        raise AssertionError(f"imported {name}")

    def fetch(self, url: str, headers: Mapping[str, str], timeout_s: float) -> str | None:
        raise AssertionError(f"fetched {url}")


def test_on_a_machine_without_accelerators_only_files_are_looked_at(tmp_path: Path) -> None:
    machine = OnlyFiles(tmp_path)
    machine.pci("0000:00:1f.0", "0x8086", "0x7a04", "0x060100")
    before = set(threading.enumerate())  # those of earlier tests may end meanwhile
    detection = detect(machine)
    assert set(threading.enumerate()) <= before
    assert evidence(machine) == []
    assert [one.vendor for one in detection.findings] == [vendor.name for vendor in VENDORS]
    assert detection.gpu_vendor is None
    assert not any(one.asked for one in detection.findings)


def test_all_families_of_a_machine_are_found_in_the_fixed_order(machine: MadeMachine) -> None:
    for add in (add_ascend, add_gaudi, add_tpu, add_neuron, add_intel, add_amd):
        add(machine)
    detection = detect(machine)
    assert {one.vendor: len(one.devices) for one in detection.findings} == {
        "nvidia": 0,
        "amd": 2,
        "intel": 2,
        "neuron": 4,
        "tpu": 4,
        "gaudi": 2,
        "ascend": 2,
    }
    assert evidence(machine) == ["amd", "intel", "neuron", "tpu", "gaudi", "ascend"]
    node = resolve_resources(detection, num_gpus=None, resources=None, environ={})
    assert {name: len(devices) for name, devices in node.devices.items()} == {
        "GPU": 2,
        "neuron_cores": 4,
        "TPU": 4,
        "HPU": 2,
        "NPU": 2,
    }


def test_one_family_that_hangs_is_unknown_and_holds_up_no_other(tmp_path: Path) -> None:
    machine = HangingMachine(tmp_path)
    add_neuron(machine)
    add_amd(machine)
    try:
        detection = detect(machine, deadline_s=0.05, clock=machine.clock)
    finally:
        machine.released.set()
    assert detection.finding("neuron").reason == "unknown: neuron-ls has not answered for 0.05 s."
    assert detection.finding("neuron").late
    assert len(detection.finding("amd").devices) == 2


def test_a_machine_that_stands_still_makes_no_family_unknown(tmp_path: Path) -> None:
    """Those who answer stand still with it."""
    machine = SlowLibrary(tmp_path)
    add_intel(machine)
    times = iter([0.0, 100.0])

    def clock() -> float:
        now = next(times, None)
        if now is None:  # it has been looked at after the machine stood still
            machine.released.set()
        return now or 100.0

    assert len(detect(machine, deadline_s=10, clock=clock).finding("intel").devices) == 2


class SlowLibrary(MadeMachine):
    """Intel's library is imported when the test says so."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.released = threading.Event()

    def import_module(self, name: str) -> Any:
        if name == "dpctl":
            self.released.wait(600)
        return super().import_module(name)


def slow_intel_beside_amd(folder: Path) -> SlowLibrary:
    machine = SlowLibrary(folder)
    add_intel(machine)
    add_amd(machine)
    return machine


def test_a_node_begins_without_the_answer_about_gpus_that_it_would_not_offer(tmp_path: Path) -> None:
    machine = slow_intel_beside_amd(tmp_path)
    steps = detections(machine)
    first = next(steps)
    assert (first.gpu_vendor, len(first.finding("amd").devices), first.finding("intel").devices) == ("amd", 2, [])
    assert "does not wait for GPUs that it will not offer" in first.finding("intel").reason
    machine.released.set()
    (second,) = steps
    assert (second.gpu_vendor, len(second.finding("intel").devices)) == ("amd", 2)
    assert not any(device.offered for device in second.finding("intel").devices)


@pytest.mark.parametrize("how", ["asked for by name", "the others are hidden"])
def test_a_node_waits_for_gpus_that_it_may_offer(tmp_path: Path, how: str) -> None:
    machine = slow_intel_beside_amd(tmp_path)
    named = "intel" if how == "asked for by name" else None
    if named is None:
        machine.variables["ROCR_VISIBLE_DEVICES"] = ""
    steps = detections(machine, gpu_vendor=named, deadline_s=0.1)
    assert next(steps).finding("intel").late
    assert list(steps) == []
    machine.released.set()


def test_one_answer_is_all_where_everything_is_known_at_once(machine: MadeMachine) -> None:
    add_neuron(machine)
    assert len(list(detections(machine))) == 1


@pytest.mark.parametrize("text", ["soon", "0", "-1", "1e9", "nan"])
def test_a_time_limit_that_is_none_is_refused(machine: MadeMachine, text: str) -> None:
    machine.variables["NBACCEL_DETECTION_TIMEOUT_S"] = text
    with pytest.raises(ValueError, match=f"NBACCEL_DETECTION_TIMEOUT_S={text} is not a number of seconds"):
        detect(machine)


def test_a_tool_that_never_ends_is_stopped_by_its_own_limit(machine: MadeMachine) -> None:
    machine.tool("slow", "exec sleep 60")
    answer = machine.run(["slow"], 0.2)
    assert (answer.returncode, answer.ok) == (None, False)
    assert "has not answered for 0.2 s" in answer.complaint()


def test_when_even_the_asking_process_is_late_every_family_is_unknown_and_quantities_still_count() -> None:
    detection = unknown_detection("the prober has not answered for 11 s", gpu_vendor="amd")
    assert {one.reason for one in detection.findings} == {"unknown: the prober has not answered for 11 s."}
    assert all(one.late for one in detection.findings)
    node = resolve_resources(detection, num_gpus=2, resources=None, environ={})
    assert [(one.vendor, one.kind.value) for one in node.devices["GPU"]] == [("amd", "logical")] * 2
    assert Detection.from_json(detection.to_json()) == detection


def test_gpu_comes_from_the_first_vendor_with_a_discrete_device(machine: MadeMachine) -> None:
    add_intel(machine)
    add_amd(machine)
    detection = detect(machine)
    assert detection.gpu_vendor == "amd"
    assert [one.offered for one in detection.devices] == [True, True, False, False]


def test_gpu_comes_from_the_vendor_that_is_asked_for(machine: MadeMachine) -> None:
    add_intel(machine)
    add_amd(machine)
    detection = detect(machine, gpu_vendor="intel")
    node = resolve_resources(detection, num_gpus=None, resources=None, environ={})
    assert {device.vendor for device in node.devices["GPU"]} == {"intel"}
    node = resolve_resources(detection, num_gpus=None, resources=None, gpu_vendor="amd", environ={})
    assert {device.vendor for device in node.devices["GPU"]} == {"amd"}


def test_gpu_comes_from_the_next_vendor_when_a_variable_hides_the_first(machine: MadeMachine) -> None:
    add_intel(machine)
    add_amd(machine)
    machine.variables["ROCR_VISIBLE_DEVICES"] = ""
    assert detect(machine).gpu_vendor == "intel"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tpu", "gpu_vendor='tpu' does not make GPUs"),
        ("apple", "'apple' is no maker of GPUs that is known. Give one of nvidia, amd, intel"),
    ],
)
def test_a_gpu_vendor_that_is_none_is_refused(machine: MadeMachine, name: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        detect(machine, gpu_vendor=name)


def test_a_detection_survives_the_way_through_json(machine: MadeMachine) -> None:
    for add in (add_amd, add_neuron, add_tpu):
        add(machine)
    machine.variables["TPU_VISIBLE_CHIPS"] = "0,9"
    detection = detect(machine)
    assert Detection.from_json(detection.to_json()) == detection
    node = resolve_resources(detection, num_gpus=3, resources=None, environ=machine.environ)
    assert NodeDevices.from_dict(node.to_dict()) == node


def test_the_room_loads_no_vendor_library_and_nothing_heavy() -> None:
    program = (
        "import sys, nbaccel.accelerators, nbaccel.accelerators.report\n"
        "heavy = {'pynvml', 'amdsmi', 'dpctl', 'acl', 'numpy', 'torch', 'ray', 'IPython', 'urllib.request'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    root = Path(__file__).parents[2]
    child = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=root, timeout=DEADLINE_S
    )
    assert (child.stdout, child.stderr) == ("[]\n", "")


def test_signs_cost_nothing_when_the_machine_is_simulated(tmp_path: Path) -> None:
    machine = OnlyFiles(tmp_path)
    machine.file("/dev/nvidia0")
    machine.variables["NBACCEL_SIMULATE"] = "amd:2xMI300X"
    assert evidence(machine) == []
    assert [one.type for one in detect(machine).devices] == ["AMD-Instinct-MI300X-OAM"] * 2
