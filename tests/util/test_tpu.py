"""What a host is in a slice of TPUs, asked of a machine that a folder stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

import nbaccel
from nbaccel.util import tpu
from tests.accelerators.machines import MadeMachine, add_tpu


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeMachine:
    """This computer, without any chip so far."""
    machine = MadeMachine(tmp_path)
    monkeypatch.setenv("NBACCEL_MACHINE_ROOT", str(machine.tree))
    return machine


def test_a_host_without_chips_is_in_no_slice(host: MadeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_NAME", "left-over")
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", "v4-16")
    assert nbaccel.util.tpu.get_num_tpu_chips_on_node() == 0
    assert tpu.get_current_pod_name() is None and tpu.get_current_pod_worker_count() is None


@pytest.mark.parametrize(
    ("slice_type", "workers"),
    [("v4-16", 2), ("v5litepod-16", 4), ("v6e-8", 2), ("v4-4", 1), ("v5p-20", 3), ("unknown", None)],
)
def test_a_host_knows_its_slice_and_of_how_many_hosts_it_is(
    host: MadeMachine, monkeypatch: pytest.MonkeyPatch, slice_type: str, workers: int | None
) -> None:
    add_tpu(host, 4)
    monkeypatch.setenv("TPU_NAME", "my-slice")
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", slice_type)
    assert (tpu.get_num_tpu_chips_on_node(), tpu.get_current_pod_name()) == (4, "my-slice")
    assert tpu.get_current_pod_worker_count() == workers


@pytest.mark.parametrize(
    ("kind", "version"), [("TPU-V6E", "v6e"), ("v4", "v4"), ("tpu7x", "v7x"), ("TPU-V5LITEPOD", "v5litepod")]
)
def test_the_generation_of_a_type(kind: str, version: str) -> None:
    assert tpu.get_tpu_version_from_type(kind) == version


def test_what_is_no_type_of_a_tpu_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match=r"'A100' is not a TPU's accelerator type: write one of TPU-V2, "):
        tpu.get_tpu_version_from_type("A100")
