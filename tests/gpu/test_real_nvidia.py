"""The same promises on a real NVIDIA GPU: found as its driver shows it, measured, assigned to a task, given back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from nbaccel.accelerators import Device, DeviceKind, RealMachine, detect, environment_for, resolve_resources
from nbaccel.accelerators.metrics import FIELDS, Sampler

pytestmark = pytest.mark.gpu
MIB = 1 << 20


def torch_with_cuda() -> Any:
    """torch, or a skip: a CPU build of it sees no device."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if torch.version.cuda is None:
        pytest.skip("this torch is built without CUDA")
    return torch


@pytest.fixture
def session(gpus: list[Device]) -> Iterator[Any]:
    """nbaccel, started with the devices that it finds."""
    import nbaccel

    nbaccel.init(num_cpus=2)
    yield nbaccel
    nbaccel.shutdown()


def test_every_card_is_found_with_its_facts(gpus: list[Device]) -> None:
    for device in gpus:
        assert device.kind is DeviceKind.REAL
        assert device.uuid
        assert device.type
        assert (device.memory_bytes or 0) > 256 * MIB


def test_cards_are_those_that_nvidia_smi_lists(gpus: list[Device]) -> None:
    if shutil.which("nvidia-smi") is None:
        pytest.skip("nvidia-smi is not on PATH")
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60, check=True).stdout
    for device in gpus:
        assert device.uuid is not None
        assert device.uuid in listed


def test_a_sample_has_a_value_or_a_reason_for_each_field(gpus: list[Device]) -> None:
    with Sampler(RealMachine()) as sampler:
        for metrics in sampler.sample(gpus):
            assert all((getattr(metrics, name) is None) == (name in metrics.reasons) for name in FIELDS)
            assert metrics.memory_used_bytes is not None
            assert metrics.memory_total_bytes is not None
            assert 0 <= metrics.memory_used_bytes <= metrics.memory_total_bytes


def test_the_assigned_variable_shows_a_process_exactly_its_device(gpus: list[Device]) -> None:
    torch_with_cuda()
    node = resolve_resources(detect(RealMachine()), num_gpus=None, resources=None, environ=os.environ)
    device = node.devices["GPU"][-1]
    variables = environment_for([device], os.environ, node_device_count=len(node.devices["GPU"]))
    environ = {**os.environ, **{name: value for name, value in variables.items() if value is not None}}
    program = "import torch; print(torch.cuda.device_count(), torch.cuda.get_device_properties(0).uuid)"
    child = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=110)
    count, uuid = child.stdout.split()
    assert count == "1"
    assert device.uuid is None or uuid in device.uuid


def test_a_torch_task_sees_exactly_its_device(session: Any) -> None:
    torch_with_cuda()

    @session.remote(num_gpus=1)
    def look() -> tuple[list[str], str, int]:
        import torch

        ids = session.get_runtime_context().get_accelerator_ids()["GPU"]
        return ids, os.environ["CUDA_VISIBLE_DEVICES"], torch.cuda.device_count()

    ids, variable, count = session.get(look.remote(), timeout=100)
    assert count == 1
    assert len(ids) == 1
    assert variable


def test_the_memory_of_a_task_is_given_back_when_it_ends(session: Any, gpus: list[Device]) -> None:
    torch_with_cuda()

    @session.remote(num_gpus=1)
    def fill() -> int:
        import torch

        kept = torch.ones(512 * MIB, dtype=torch.uint8, device="cuda")
        fill.kept = kept  # type: ignore[attr-defined]  # a global reference, as careless code has
        torch.cuda.synchronize()
        return os.getpid()

    pid = session.get(fill.remote(), timeout=100)
    # The next task on the device starts only when the process before it has ended.
    session.get([fill.remote() for _ in gpus], timeout=100)
    with Sampler(RealMachine()) as sampler:
        users = [process for metrics in sampler.sample(gpus) for process, _ in metrics.processes or []]
    assert pid not in users


def test_a_running_head_shows_the_cards_with_their_metrics_and_leases_the_one_in_use(
    session: Any, gpus: list[Device]
) -> None:
    @session.remote(num_gpus=1)
    class Holder:
        def ids(self) -> list[str]:
            return list(session.get_runtime_context().get_accelerator_ids()["GPU"])

    holder = Holder.remote()
    (held,) = session.get(holder.ids.remote(), timeout=100)
    rows = [row for row in session.snapshot().devices if row.offered]
    assert [row.name for row in rows] == [device.name for device in gpus]
    assert all(row.kind == "real" and row.metrics.memory_used_bytes is not None for row in rows)
    (row,) = [row for row in rows if row.id == held]
    assert row.holders[0].name == "Holder"
    assert f"pid {os.getpid()}" in session.api.device_holder(row.uuid)
