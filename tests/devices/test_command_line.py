"""`nbaccel devices`, `nbaccel doctor` and `%accel_devices`: what was found, what was not and why, who holds what."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from typing import Any

import pytest

import nbaccel
from nbaccel.accelerators import VENDORS
from nbaccel.notebook import views
from tests.accelerators.fake_nvml import Gpu
from tests.accelerators.machines import add_amd, add_neuron
from tests.devices.conftest import Lab, look
from tests.rig import DEADLINE_S, wait_until

GIB = 1 << 30


def command(lab: Lab, *arguments: str, code: int = 0, **variables: str) -> str:
    done = lab.place.command(*arguments, **{**lab.environ, **variables})
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def rows(lab: Lab, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(command(lab, "devices", "--json", *arguments))
    return found


@pytest.fixture
def mixed_lab(nvidia_lab: Lab) -> Lab:
    """An NVIDIA card that a foreign process uses, two AMD cards and four Neuron cores."""
    nvidia_lab.nvml.has(Gpu("GPU-a", used=9 * GIB), "process|GPU-a|4711|9663676416")
    add_amd(nvidia_lab.machine)
    add_neuron(nvidia_lab.machine)
    return nvidia_lab


# --- no head runs -------------------------------------------------------------------------------------------------


def test_devices_lists_everything_of_the_machine(mixed_lab: Lab) -> None:
    text = command(mixed_lab, "devices")
    assert "NVIDIA A100-SXM4-40GB" in text
    assert "pid 4711 uses 9 GiB" in text
    assert "not offered: GPU means NVIDIA GPUs on this node; init(gpu_vendor='amd') offers these instead" in text
    found = rows(mixed_lab)
    assert [row["family"] for row in found] == ["NVIDIA GPU"] + ["AMD GPU"] * 2 + ["AWS Neuron core"] * 4
    assert [row["offered"] for row in found] == [True, False, False, True, True, True, True]


def test_nothing_found_says_where_to_read_why(lab: Lab) -> None:
    assert "No accelerator. nbaccel doctor says what was looked for." in command(lab, "devices")
    assert rows(lab) == []


def test_doctor_says_what_was_looked_for_and_what_to_type_next(lab: Lab) -> None:
    text = command(lab, "doctor")
    (folded,) = [line for line in text.splitlines() if line.startswith("  No sign of: ")]
    assert all(f"{vendor.family} (" in folded for vendor in VENDORS)
    assert "nbaccel.init(num_gpus=2) counts two logical GPUs" in text


def test_doctor_names_a_missing_driver(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has("init|9")
    text = command(nvidia_lab, "doctor")
    assert "NVIDIA GPU: the NVIDIA kernel driver is not loaded" in text
    assert "modprobe nvidia" in text


def test_doctor_names_the_variable_that_hides_devices(mixed_lab: Lab) -> None:
    text = command(mixed_lab, "doctor", CUDA_VISIBLE_DEVICES="")
    assert "CUDA_VISIBLE_DEVICES, set to empty, leaves 0" in text
    assert "Unset or widen CUDA_VISIBLE_DEVICES" in text


def test_doctor_answers_though_a_driver_hangs(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has("hang|nvmlInit")
    nvidia_lab.set(NBACCEL_DETECTION_TIMEOUT_S="2")  # long enough to have reached the driver on a busy machine
    assert "nvmlInit has not answered for 2 s" in command(nvidia_lab, "doctor")


def test_doctor_shows_a_simulated_machine(lab: Lab) -> None:
    assert "AMD GPU: 2 found (simulated): AMD Instinct MI300X; offered as GPU." in command(
        lab, "doctor", NBACCEL_SIMULATE="amd:2xMI300X"
    )
    assert "vendor:count" in command(lab, "doctor", "--simulate", "nonsense", code=1)


# --- while heads run ----------------------------------------------------------------------------------------------


@nbaccel.remote(num_gpus=1)
class Trainer:
    def ready(self) -> bool:
        return True


def test_devices_of_a_running_head_name_holders_and_what_is_not_offered(mixed_lab: Lab) -> None:
    nbaccel.init(num_cpus=1)
    trainer = Trainer.remote()
    assert nbaccel.get(trainer.ready.remote())
    wait_until(lambda: sum(not row.offered for row in mixed_lab.snapshot().devices) == 2, "the other vendor's cards")
    found = rows(mixed_lab)
    assert found[0]["holders"][0]["name"] == "Trainer"
    assert found[0]["metrics"]["processes"] == [[4711, 9 * GIB]]
    assert sum(not row["offered"] for row in found) == 2
    text = command(mixed_lab, "devices")
    assert "Trainer (pid" in text
    assert "9 GiB of 40 GiB" in text
    assert "init(gpu_vendor='amd') offers these instead" in text


def test_the_magics_table_shows_the_same(mixed_lab: Lab) -> None:
    nbaccel.init(num_cpus=1)
    wait_until(lambda: sum(not row.offered for row in mixed_lab.snapshot().devices) == 2, "the other vendor's cards")
    offered, everything = str(views.devices()), str(views.devices(everything=True))
    assert "NVIDIA A100-SXM4-40GB" in offered
    assert "gpu_vendor" not in offered
    assert "AMD Instinct MI300X OAM" in everything
    assert "not offered" in everything


def test_doctor_names_holders_and_the_last_notes_of_heads(mixed_lab: Lab) -> None:
    nbaccel.init(num_cpus=1)
    trainer = Trainer.remote()
    assert nbaccel.get(trainer.ready.remote())
    (prober,) = mixed_lab.helper("prober")
    os.kill(prober, signal.SIGKILL)
    wait_until(lambda: mixed_lab.helper("prober") not in ([], [prober]), "another prober")
    text = command(mixed_lab, "doctor")
    assert re.search(rf"held by [^;]*, pid {os.getpid()}; pid 4711 uses 9 GiB", text)
    assert "Last errors of the head's log" in text
    assert "the prober process ended and is started again" in text


def test_a_head_of_the_command_line_is_restricted_and_refuses_more(mixed_lab: Lab) -> None:
    refusal = command(mixed_lab, "start", "--head", "--num-gpus", "2", code=1, CUDA_VISIBLE_DEVICES="0")
    assert "init asked for num_gpus=2, but CUDA_VISIBLE_DEVICES=0 allows 1 device (0)." in refusal
    command(mixed_lab, "start", "--head", NEURON_RT_VISIBLE_CORES="1-2")
    try:
        nbaccel.init(address="auto")
        assert nbaccel.cluster_resources()["neuron_cores"] == 2
        seen = nbaccel.get(look.options(resources={"neuron_cores": 1}).remote("NEURON_RT_VISIBLE_CORES"))
        assert seen == {"ids": {"neuron_cores": ["1"]}, "NEURON_RT_VISIBLE_CORES": "1"}
    finally:
        nbaccel.shutdown()
        command(mixed_lab, "stop")


def test_a_terminal_gets_a_table(mixed_lab: Lab) -> None:
    ours, theirs = pty.openpty()
    environ = {**mixed_lab.environ, "COLUMNS": "200", "TERM": "xterm"}
    with open(ours, "rb", buffering=0) as terminal:
        subprocess.run(
            [sys.executable, "-m", "nbaccel", "devices"], env=environ, stdout=theirs, check=True, timeout=DEADLINE_S
        )
        text = terminal.read(1 << 16).decode()
        os.close(theirs)
    assert "\x1b[" in text
    assert "NVIDIA A100-SXM4-40GB" in text
