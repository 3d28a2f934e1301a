"""Devices and backends by what a worker holds, with a stand-in of torch; no device is there."""

from __future__ import annotations

import sys
import types
from types import SimpleNamespace
from typing import Any

import pytest

from nbaccel.train.ranks import Facts, Seat, seats
from nbaccel.train.torch.config import TorchConfig, TorchTrainer, choose


def torch_with(*types: str) -> Any:
    """A torch that can use devices of these types."""
    modules = {
        name: SimpleNamespace(is_available=lambda name=name: name in types) for name in ("cuda", "xpu", "npu", "hpu")
    }
    return SimpleNamespace(__version__="2.13.0+cpu", **modules)


def worker_group(
    *held: list[str], variable: str = "CUDA_VISIBLE_DEVICES", resource: str = "GPU", share: bool = True
) -> list[Seat]:
    facts = [
        Facts("node", "10.0.0.1", "host", 1, {resource: ids}, {variable: ",".join(ids)}, {variable: resource})
        for ids in held
    ]
    return seats(facts, {}, share=share)


def chosen(found: list[Seat], torch: Any, kind: str = "real") -> list[tuple[tuple[str, ...], str]]:
    choices = [choose(torch, seat, dict.fromkeys(seat.facts.device_ids, kind)) for seat in found]
    return [(choice.devices, choice.backend) for choice in choices]


CUDA = torch_with("cuda")


def test_two_workers_with_a_gpu_each_have_their_own_in_the_shared_list() -> None:
    assert chosen(worker_group(["0"], ["1"]), CUDA) == [(("cuda:0",), "nccl"), (("cuda:1",), "nccl")]
    assert chosen(worker_group(["3"]), CUDA) == [(("cuda:0",), "nccl")]


def test_without_sharing_each_has_the_first() -> None:
    assert chosen(worker_group(["0"], ["1"], share=False), CUDA) == [(("cuda:0",), "nccl")] * 2


def test_two_gpus_each() -> None:
    assert chosen(worker_group(["0", "1"], ["2", "3"]), CUDA) == [
        (("cuda:0", "cuda:1"), "nccl"),
        (("cuda:2", "cuda:3"), "nccl"),
    ]
    assert chosen(worker_group(["2", "3"]), CUDA) == [(("cuda:0", "cuda:1"), "nccl")]


def test_halves_put_two_ranks_on_each_and_are_connected_by_gloo() -> None:
    halves = worker_group(*([str(number // 2)] for number in range(8)))
    assert chosen(halves, CUDA) == [((f"cuda:{number // 2}",), "gloo") for number in range(8)]
    assert "Two ranks share a GPU, which nccl refuses" in choose(CUDA, halves[0], {"GPU": "real"}).note


def test_one_shared_device_lets_all_ranks_use_gloo() -> None:
    assert {backend for _, backend in chosen(worker_group(["0"], ["0"], ["1"]), CUDA)} == {"gloo"}


def test_sixteen_gpus_are_counted_as_numbers() -> None:
    found = chosen(worker_group(*([str(number)] for number in range(16))), CUDA)
    assert [devices for devices, _ in found] == [(f"cuda:{number}",) for number in range(16)]


def test_gpus_of_other_makers() -> None:
    intel = worker_group(["0"], ["1"], variable="ONEAPI_DEVICE_SELECTOR")
    assert chosen(intel, torch_with("xpu")) == [(("xpu:0",), "xccl"), (("xpu:1",), "xccl")]
    amd = worker_group(["0"], ["1"], variable="ROCR_VISIBLE_DEVICES")
    assert chosen(amd, CUDA)[1] == (("cuda:1",), "nccl")


@pytest.mark.parametrize(("resource", "plug_in"), [("NPU", "torch_npu"), ("HPU", "habana_frameworks.torch")])
def test_ascend_and_gaudi_need_their_plug_in(resource: str, plug_in: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = worker_group(["0"], ["1"], variable=f"{resource}_VISIBLE", resource=resource)
    kind = resource.lower()
    with pytest.raises(RuntimeError, match=plug_in.partition(".")[0]):
        choose(torch_with(kind), found[0], {resource: "real"})
    for end in range(1, plug_in.count(".") + 2):
        name = ".".join(plug_in.split(".")[:end])
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    assert chosen(found, torch_with(kind)) == [((f"{kind}:0",), "hccl"), ((f"{kind}:1",), "hccl")]


@pytest.mark.parametrize("kind", ["logical", "simulated"])
def test_devices_that_are_not_there_compute_on_the_cpu(kind: str) -> None:
    found = worker_group(["0"], ["1"])
    assert chosen(found, torch_with(), kind) == [(("cpu",), "gloo")] * 2
    assert f"The GPUs of this run are {kind}" in choose(torch_with(), found[0], {"GPU": kind}).note
    assert chosen(found, CUDA, kind) == [(("cuda:0",), "nccl"), (("cuda:1",), "nccl")]


def test_a_real_device_that_torch_cannot_use_is_an_error_that_names_the_build() -> None:
    with pytest.raises(RuntimeError, match=r"GPU 1, which is a real device.*2\.13\.0\+cpu.*torch with CUDA"):
        choose(torch_with(), worker_group(["0"], ["1"])[1], {"GPU": "real"})
    with pytest.raises(RuntimeError, match=r"TPU.*JAX"):
        choose(torch_with(), worker_group(["0"], variable="TPU_VISIBLE_CHIPS", resource="TPU")[0], {"TPU": "real"})


def test_a_worker_without_a_device_computes_on_the_cpu() -> None:
    found = seats([Facts("node", "a", "h", 1), Facts("node", "a", "h", 2)], {})
    assert chosen(found, CUDA) == [(("cpu",), "gloo")] * 2


def test_the_config_is_checked_where_it_is_made() -> None:
    with pytest.raises(ValueError, match="must be 'env' or 'tcp'"):
        TorchConfig(init_method="file")
    with pytest.raises(ValueError, match="must be a name such as 'gloo'"):
        TorchConfig(backend=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="torch_config takes"):
        TorchTrainer(print, torch_config={"backend": "gloo"})  # type: ignore[arg-type]
    assert TorchConfig().backend_cls.share_cuda_visible_devices
    assert not TorchConfig(share_devices=False).backend_cls.share_cuda_visible_devices


@pytest.mark.extra("torch")
def test_the_driver_is_no_worker() -> None:
    from nbaccel.train.torch import get_device, get_devices

    for ask in (get_device, get_devices):
        with pytest.raises(RuntimeError, match="cannot be used outside of a training function"):
            ask()


def test_names_that_are_not_here_say_what_instead() -> None:
    from nbaccel.train.torch import TorchCheckpoint, prepare_optimizer

    with pytest.raises(DeprecationWarning, match=r"prepare_optimizer is not here: use torch\.amp"):
        prepare_optimizer(None)
    with pytest.raises(NotImplementedError, match=r"Checkpoint\.save"):
        TorchCheckpoint()
