"""Chooses the torch devices of a worker and the backend that connects the ranks.

```
  what the worker holds          torch has it       torch has it not, and the device is
                                                    logical, simulated     real
  nothing                        cpu, gloo          cpu, gloo              cpu, gloo
  GPU of NVIDIA, AMD             cuda:i, nccl       cpu, gloo              an error that names the build
  GPU of Intel                   xpu:i, xccl        cpu, gloo              the same
  NPU, HPU                       npu:i, hpu:i, hccl cpu, gloo              the same
  TPU                            an error: torch has no backend for it that nbaccel knows
```
Two ranks on one device are connected by gloo: nccl and its like refuse a device that has another rank.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbaccel.train.ranks import Seat
from nbaccel.train.session import current

if TYPE_CHECKING:
    import torch


def needs_torch(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """The error of a process that has no torch: it names the extra."""
    words = "nbaccel.train.torch needs torch, in this process and in the workers: pip install 'nbaccel[train]'"
    return ModuleNotFoundError(words, name=error.name)


def loaded_torch() -> Any:
    """torch, in a function that needs it. Raises ModuleNotFoundError, which names the extra."""
    try:
        import torch
    except ModuleNotFoundError as error:
        raise needs_torch(error) from None
    return torch


@dataclass(frozen=True, slots=True)
class Family:
    """The names that torch has for a family of devices.

    needs   a module that has to be imported first, and which build of torch has it
    """

    type: str
    backend: str
    needs: str = ""
    build: str = ""


_CUDA = Family("cuda", "nccl", build="torch with CUDA, which is what `pip install torch` gives on Linux")
_ROCM = Family("cuda", "nccl", build="torch for ROCm, see the selector on pytorch.org")
_XPU = Family("xpu", "xccl", build="torch for Intel GPUs (XPU), see the selector on pytorch.org")
_BY_VARIABLE = {
    "CUDA_VISIBLE_DEVICES": _CUDA,
    "ROCR_VISIBLE_DEVICES": _ROCM,
    "HIP_VISIBLE_DEVICES": _ROCM,
    "ONEAPI_DEVICE_SELECTOR": _XPU,
    "ZE_AFFINITY_MASK": _XPU,
}
_BY_RESOURCE = {
    "NPU": Family("npu", "hccl", "torch_npu", "torch with Ascend's plug-in torch_npu"),
    "HPU": Family("hpu", "hccl", "habana_frameworks.torch", "torch with Intel Gaudi's plug-in habana_frameworks"),
}
_KNOWN = ("GPU", *_BY_RESOURCE)


@dataclass(frozen=True, slots=True)
class WorkerDevices:
    """The devices of a worker as torch names them, and its backend.

    note  a sentence that explains a surprising choice, or ""
    """

    devices: tuple[str, ...]
    backend: str
    note: str = ""


def choose(torch: Any, seat: Seat, kinds: Mapping[str, str]) -> WorkerDevices:
    """Choose a worker's devices and backend. Raises RuntimeError for a real device that torch cannot use."""
    resource = next((name for name in _KNOWN if seat.device_index.get(name)), None)
    if resource is None:
        if seat.facts.device_ids.get("TPU"):
            raise RuntimeError(
                "This worker holds a TPU, for which torch has no backend that nbaccel knows. Train on it with JAX, in "
                "a DataParallelTrainer, or give TorchTrainer other devices."
            )
        return WorkerDevices(("cpu",), "gloo")
    family = _family(torch, seat, resource)
    if not _is_available(torch, family):
        return _without(torch, seat, resource, family, kinds.get(resource, "logical"))
    devices = tuple(f"{family.type}:{index}" for index in seat.device_index[resource])
    if seat.shared:
        return WorkerDevices(
            devices,
            "gloo",
            f"Two ranks share a {resource}, which {family.backend} refuses, so the ranks are connected by gloo. Whole "
            f"devices for each rank let {family.backend} connect them.",
        )
    return WorkerDevices(devices, family.backend)


def _family(torch: Any, seat: Seat, resource: str) -> Family:
    if resource in _BY_RESOURCE:
        return _BY_RESOURCE[resource]
    named = [_BY_VARIABLE[name] for name, of in seat.facts.families.items() if of == "GPU" and name in _BY_VARIABLE]
    found = [family for family in named if _is_available(torch, family)]
    return (found or named or [_CUDA])[0]


def _is_available(torch: Any, family: Family) -> bool:
    if family.needs:
        try:
            importlib.import_module(family.needs)
        except ImportError:
            return False
    module = getattr(torch, family.type, None)
    return module is not None and bool(module.is_available())


def _without(torch: Any, seat: Seat, resource: str, family: Family, kind: str) -> WorkerDevices:
    ids = ", ".join(seat.facts.device_ids.get(resource, ()))
    if kind == "real":
        raise RuntimeError(
            f"This worker holds {resource} {ids}, which is a real device, but torch {torch.__version__} cannot use it. "
            f"Install {family.build}; if it is installed, its driver does not answer: `nbaccel doctor` says more."
        )
    return WorkerDevices(
        ("cpu",),
        "gloo",
        f"The {resource}s of this run are {kind}, so it computes on the CPU and the ranks are connected by gloo.",
    )


def get_devices() -> list[torch.device]:
    """The torch devices of this worker, in the order of their numbers; [cpu] without one.

    With the devices of the whole node in sight (see docs/training.md) the second of two workers with two GPUs each has
    cuda:2 and cuda:3, as in Ray Train. Raises SessionMisuseError outside of a training function, and RuntimeError for a
    real device that this build of torch cannot use.
    """
    session = current("get_device")
    torch = loaded_torch()
    if not session.seat.facts.node_id:  # num_workers=0: whatever this process can use
        return [torch.device("cuda:0" if torch.cuda.is_available() else "cpu")]
    return [torch.device(name) for name in choose(torch, session.seat, session.device_kinds).devices]


def get_device() -> torch.device:
    """The first of `get_devices()`.

    >>> def train_func():
    ...     train.report({"device": str(train.torch.get_device())})
    >>> TorchTrainer(train_func).fit().metrics
    {'device': 'cpu'}
    """
    return get_devices()[0]
