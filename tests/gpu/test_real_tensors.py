"""Tensors on a real NVIDIA GPU on their way through the store: by the host, once, and back where there is a device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from nbaccel.accelerators import Device

pytestmark = pytest.mark.gpu
MIB = 1 << 20


@pytest.fixture
def session(gpus: list[Device]) -> Iterator[Any]:
    """nbaccel, started with the devices that it finds, where torch can use them."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if torch.version.cuda is None:
        pytest.skip("this torch is built without CUDA")
    import nbaccel

    nbaccel.init(num_cpus=2)
    yield nbaccel
    nbaccel.shutdown()


def make(size: int) -> Any:
    import torch

    whole = torch.arange(size, device="cuda")
    return {"whole": whole, "part": whole[10:20]}


def look(state: Any) -> tuple[str, int, bool]:
    """Where it lies, what it says, and whether a write into the part is seen in the whole."""
    state["part"].zero_()
    return str(state["whole"].device), int(state["whole"].sum()), int(state["whole"][10]) == 0


def test_a_gpus_tensor_comes_to_the_notebook_as_the_hosts(session: Any, capfd: pytest.CaptureFixture[str]) -> None:
    state = session.get(session.remote(num_gpus=1)(make).remote(MIB))
    assert state["whole"].device.type == "cpu"
    assert int(state["whole"].sum()) == MIB * (MIB - 1) // 2
    assert "A tensor on cuda:0 travels through the memory of the host" in capfd.readouterr().err


def test_a_gpus_tensor_comes_to_the_gpu_of_the_task_that_gets_it(session: Any) -> None:
    ref = session.remote(num_gpus=1)(make).remote(MIB)
    rest = MIB * (MIB - 1) // 2 - sum(range(10, 20))
    assert session.get(session.remote(num_gpus=1)(look).remote(ref)) == ("cuda:0", rest, True)
    assert session.get(session.remote(num_gpus=0)(look).remote(ref)) == ("cpu", rest, True)


def test_a_gpus_tensor_of_the_notebook_is_an_argument(session: Any) -> None:
    state = make(1000)
    rest = 1000 * 999 // 2 - sum(range(10, 20))
    assert session.get(session.remote(num_gpus=1)(look).remote(state)) == ("cuda:0", rest, True)
    assert int(state["whole"].sum()) == 1000 * 999 // 2
