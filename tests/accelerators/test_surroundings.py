"""What `nbaccel doctor` says of the driver, CUDA, torch and the container around the devices."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nbaccel.accelerators.report import bytecode, doctor, look_around
from tests.accelerators.machines import MadeMachine

DRIVER = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023"
SMI = """if [ "$1" = "--query-gpu=persistence_mode" ]; then echo Disabled; else echo "| CUDA Version: 12.2 |"; fi"""


def _texts(machine: MadeMachine, python: str | None = None) -> list[str]:
    return [fact.text for fact in look_around(machine, python)]


def test_the_driver_its_cuda_and_its_modes_are_said(machine: MadeMachine) -> None:
    machine.file("/proc/driver/nvidia/version", DRIVER)
    machine.tool("nvidia-smi", SMI)
    machine.file("/tmp/nvidia-mps/control")
    facts = look_around(machine, None)
    assert facts[0].text == "NVIDIA driver 535.104.05, for CUDA up to 12.2"
    assert facts[1].text.startswith("Persistence mode is off") and "nvidia-smi -pm 1" in facts[1].advice
    assert facts[2].text.startswith("MPS runs (/tmp/nvidia-mps)")


def test_nothing_is_said_of_a_driver_that_is_not_here(machine: MadeMachine) -> None:
    assert not any("NVIDIA" in text or "torch" in text for text in _texts(machine, "/nowhere/python"))


def test_torch_is_asked_in_a_process_of_its_own(machine: MadeMachine) -> None:
    machine.file("/proc/driver/nvidia/version", DRIVER)
    machine.tool("made-python", "echo '2.4.0|12.4|0'")
    fact = next(fact for fact in look_around(machine, "made-python") if fact.text.startswith("torch"))
    assert fact.text == "torch 2.4.0 (12.4) sees 0 devices"
    assert "newer than the driver's" in fact.advice


def test_a_python_without_torch_is_no_news(machine: MadeMachine) -> None:
    machine.file("/proc/driver/nvidia/version", DRIVER)
    machine.tool("made-python", "exit 1")
    assert not any("torch" in text for text in _texts(machine, "made-python"))


def test_the_limits_of_a_container_are_said_with_what_to_do(machine: MadeMachine) -> None:
    machine.prints("df", "Filesystem 1K-blocks Used Available Use% Mounted on\nshm 65536 1024 64512 2% /dev/shm\n")
    machine.file("/sys/fs/cgroup/memory.max", 16 << 30)
    machine.file("/sys/fs/cgroup/pids.max", 128)
    machine.file("/sys/fs/cgroup/pids.current", 100)
    shm, memory, processes = look_around(machine, None)
    assert shm.text.startswith("/dev/shm has 63 MiB of 64 MiB free") and "--shm-size" in shm.advice
    assert memory.text.startswith("Memory is limited to 16 GiB") and not memory.advice
    assert processes.text.startswith("100 of at most 128") and "--pids-limit" in processes.advice


def test_where_nothing_is_limited_nothing_is_said_of_it(machine: MadeMachine) -> None:
    machine.prints("df", "Filesystem 1K-blocks Used Available Use% Mounted on\nshm 8388608 0 8388608 0% /dev/shm\n")
    machine.file("/sys/fs/cgroup/memory.max", "max")
    machine.file("/sys/fs/cgroup/pids.max", "max")
    machine.file("/sys/fs/cgroup/pids.current", 100)
    assert [(fact.text, fact.advice) for fact in look_around(machine, None)] == [
        ("/dev/shm has 8 GiB of 8 GiB free", "")
    ]


def test_the_verdict_says_first_that_something_should_be_looked_at(machine: MadeMachine) -> None:
    machine.prints("df", "Filesystem 1K-blocks Used Available Use% Mounted on\nshm 65536 1024 64512 2% /dev/shm\n")
    lines = doctor(machine).splitlines()
    assert lines[0].endswith("1 thing on this machine should be looked at.")
    assert "  Start the container with more: docker run --shm-size=8g" in lines


@pytest.fixture
def uncompiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a package and a module that Python has not compiled yet, and must not keep where it does."""
    (tmp_path / "some_package").mkdir()
    (tmp_path / "some_package" / "__init__.py").write_text("")
    (tmp_path / "some_module.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


def test_modules_that_every_start_compiles_anew_are_named_with_a_command_that_helps(uncompiled: Path) -> None:
    (fact,) = bytecode(["some_package", "some_module", "no_such_module"])
    assert fact.text.startswith("Python keeps no bytecode of some_package and some_module: ")
    command = fact.advice.removeprefix("Keep it: ")
    assert command.endswith(f"compileall -q {uncompiled / 'some_package'} {uncompiled / 'some_module.py'}")
    subprocess.run(command, shell=True, check=True)
    assert list(bytecode(["some_package", "some_module"])) == []


def test_where_python_may_keep_its_bytecode_nothing_is_said(uncompiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert list(bytecode(["some_package", "some_module"])) == []  # the next start keeps it


def test_whoever_may_not_write_there_is_told_that_another_user_has_to(
    uncompiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # the tests may run as root
    (fact,) = bytecode(["some_module"])
    assert fact.advice.startswith("Keep it, as a user who may write there: ")
