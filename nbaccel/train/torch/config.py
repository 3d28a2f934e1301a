"""TorchConfig, and the process group that it puts around a training function, with the variables of torchrun.

Rank 0 opens the meeting point, a TCPStore on a port that the system chooses, and tells the others its address: no port
is guessed. Libraries that detect torchrun find everything as torchrun leaves it. A program that calls a plain
init_process_group() gets a group of its own instead of ours: `env://` joins the same store, under another prefix.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Unpack

import nbaccel
from nbaccel.proc import LOOPBACK
from nbaccel.train import session
from nbaccel.train.configs import Backend, BackendConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer, TrainerKeywords, TrainLoop
from nbaccel.train.ranks import Seat

_JOIN_S = 60.0


class TorchBackend(Backend):
    """Every worker sees the devices of all workers of its node, as in Ray Train."""

    share_cuda_visible_devices = True


@dataclass
class TorchConfig(BackendConfig):
    """How the ranks are connected.

    backend      a name, or "cpu:gloo,cuda:nccl". None: nccl, xccl or hccl for whole devices that have one, else gloo
    init_method  "env" or "tcp", as in Ray Train; both use the same store
    timeout_s    the timeout of collective operations, in seconds
    share_devices  not in Ray. False: each worker sees only its own devices, so its first is cuda:0
    """

    imports = ("torch",)

    backend: str | None = None
    init_method: str = "env"
    timeout_s: int = 1800
    share_devices: bool = True

    def __post_init__(self) -> None:
        if self.init_method not in ("env", "tcp"):
            raise ValueError(f"TorchConfig(init_method={self.init_method!r}) must be 'env' or 'tcp'.")
        if self.backend is not None and not isinstance(self.backend, str):
            raise ValueError(f"TorchConfig(backend={self.backend!r}) must be a name such as 'gloo', or None.")

    @property
    def backend_cls(self) -> type[Backend]:
        return TorchBackend if self.share_devices else Backend

    @property
    def train_func_context(self) -> Callable[[], AbstractContextManager[Any]]:
        return partial(process_group, self.backend, self.timeout_s)


@contextmanager
def process_group(backend: str | None, timeout_s: int) -> Iterator[None]:
    """Surround the function with a process group. With num_workers=0 there is none, because the function is alone."""
    here = session.current("TorchTrainer")
    if not here.seat.facts.node_id:
        yield
        return
    torch = loaded_torch()
    choice = choose(torch, here.seat, here.device_kinds)
    if choice.devices[0].startswith("cuda"):
        torch.cuda.set_device(torch.device(choice.devices[0]))
    # OMP_NUM_THREADS comes too late for a torch that is loaded already.
    torch.set_num_threads(_threads())
    store = _join(torch, here, choice, backend, timeout_s)
    yield
    # Not after an exception: others may wait in the middle of an operation, and the process ends anyhow.
    _leave(torch, here, choice)
    del store


def _threads() -> int:
    """The number of threads: the CPUs of the worker, as with torchrun and Ray; one for less than a whole CPU."""
    held = nbaccel.get_runtime_context().get_assigned_resources().get("CPU", 0)
    return max(1, int(held))


def _join(torch: Any, here: session.Session, choice: WorkerDevices, backend: str | None, timeout_s: int) -> Any:
    """Join the process group; returns rank 0's store, which lives while a reference to it exists."""
    if not torch.distributed.is_available():
        raise RuntimeError(f"torch {torch.__version__} is built without torch.distributed: install another build.")
    seat = here.seat
    host = LOOPBACK if seat.nodes == 1 else seat.facts.address
    store, patience = None, timedelta(seconds=_JOIN_S)
    if seat.rank == 0:
        store = torch.distributed.TCPStore(host, 0, is_master=True, wait_for_workers=False, timeout=patience)
    meeting = (host, store.port, backend or choice.backend) if store is not None else None
    host, port, chosen = here.meet("process group", meeting)
    if seat.rank == 0:
        here.connected(chosen)
    if seat.rank == 0 and choice.note and backend is None:
        here.notify(choice.note)
    _set_variables(here, choice, host, port)
    _prepare_backend(chosen)
    own = reach_meeting_point(torch, seat, host, port, patience)
    wait_for_all(own, seat, here.restarts[0], patience)
    torch.distributed.init_process_group(
        chosen,
        store=torch.distributed.PrefixStore(f"nbaccel/{here.restarts[0]}", own),
        rank=seat.rank,
        world_size=seat.world_size,
        timeout=timedelta(seconds=timeout_s),
    )
    wait_until_joined(own, seat, here.restarts[0], patience)
    _give_way_to_the_programs_own(torch.distributed)
    return store


def _give_way_to_the_programs_own(distributed: Any) -> None:
    """Let the function's own first init_process_group() replace our group: torch refuses a second one."""
    begin = distributed.init_process_group

    @functools.wraps(begin)
    def init_process_group(*args: Any, **kwargs: Any) -> Any:
        distributed.init_process_group = begin
        if distributed.is_initialized():  # the function has not closed it itself
            distributed.destroy_process_group()
        return begin(*args, **kwargs)

    distributed.init_process_group = init_process_group


def _set_variables(here: session.Session, choice: WorkerDevices, host: str, port: int) -> None:
    """Set all variables of torchrun, as its documentation lists them, and Accelerate's device."""
    seat = here.seat
    values: dict[str, Any] = {
        "RANK": seat.rank,
        "WORLD_SIZE": seat.world_size,
        "LOCAL_RANK": seat.local_rank,
        "LOCAL_WORLD_SIZE": seat.local_world_size,
        "GROUP_RANK": seat.node_rank,
        "GROUP_WORLD_SIZE": seat.nodes,
        "NODE_RANK": seat.node_rank,
        "ROLE_NAME": "default",
        "ROLE_RANK": seat.rank,
        "ROLE_WORLD_SIZE": seat.world_size,
        "MASTER_ADDR": host,
        "MASTER_PORT": port,
        "TORCHELASTIC_RUN_ID": here.run_name,
        "TORCHELASTIC_RESTART_COUNT": here.restarts[0],
        "TORCHELASTIC_MAX_RESTARTS": max(0, here.restarts[1]),
        "TORCHELASTIC_USE_AGENT_STORE": True,
        "ACCELERATE_TORCH_DEVICE": choice.devices[0],
    }
    os.environ.update({name: str(value) for name, value in values.items()})
    if seat.nodes == 1 and os.path.exists("/sys/class/net/lo"):
        # The look-up of a machine's own name is what gloo hangs in most often.
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")


def _prepare_backend(backend: str) -> None:
    if "nccl" in backend and "TORCH_NCCL_BLOCKING_WAIT" not in os.environ:
        os.environ.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")  # as Ray Train: a lost peer is an error


def _leave(torch: Any, here: session.Session, choice: WorkerDevices) -> None:
    # Who leaves first would cut off those who still compute. The function may have closed its group in one rank only.
    here.meet("end of the process group", None)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    if choice.devices[0].startswith("cuda"):
        torch.cuda.empty_cache()


# ---- the store at which the ranks meet before torch connects them. A rank that does not come is named


_INTERFACES = "/sys/class/net"


def reach_meeting_point(torch: Any, seat: Seat, host: str, port: int, patience: timedelta) -> Any:
    """Connect to rank 0's store. Raises RuntimeError with the interfaces of this machine if it cannot be reached."""
    try:
        return torch.distributed.TCPStore(host, port, seat.world_size, is_master=False, timeout=patience)
    except torch.distributed.DistError as error:
        raise RuntimeError(
            f"Rank {seat.rank} on {seat.facts.host} cannot reach rank 0 at {host}:{port}: "
            f"{_first_line(error)} {_advice()}"
        ) from error


def wait_for_all(store: Any, seat: Seat, restarts: int, patience: timedelta) -> None:
    """Wait until all ranks have reached the store. Raises RuntimeError with the ranks that have not.

    A rank that waits inside of torch instead would see a connection that ends, after half an hour.
    """
    _wait(store, seat, f"nbaccel/here/{restarts}", "come to", patience)


def wait_until_joined(store: Any, seat: Seat, restarts: int, patience: timedelta) -> None:
    """Wait until all ranks are connected with each other. Raises RuntimeError with the ranks that are not.

    One that leaves at once, because it ends or begins a group of its own, would cut off a rank that still connects.
    The store ends with rank 0, which therefore also waits until no other rank looks into it any more.
    """
    _wait(store, seat, f"nbaccel/joined/{restarts}", "joined", patience)
    knows = f"nbaccel/knows/{restarts}"
    if seat.rank == 0:
        _wait(store, seat, knows, "joined", patience)
    else:
        store.set(f"{knows}/{seat.rank}", "1")


def _wait(store: Any, seat: Seat, place: str, done: str, patience: timedelta) -> None:
    names = {rank: f"{place}/{rank}" for rank in range(seat.world_size)}
    store.set(names[seat.rank], "1")
    try:
        store.wait(list(names.values()), patience)
    except RuntimeError as error:  # torch's DistStoreError is one
        missing = [rank for rank, name in names.items() if not store.check([name])]
        if not missing:
            return  # they came at the last moment
        who = f"rank {missing[0]} has" if len(missing) == 1 else f"ranks {', '.join(map(str, missing))} have"
        raise RuntimeError(
            f"After {patience.total_seconds():g} s {who} not {done} the process group, on which rank {seat.rank} "
            f"waits. {_advice()}"
        ) from error


def _advice() -> str:
    try:
        found = ", ".join(sorted(os.listdir(_INTERFACES)))
    except OSError:
        found = "unknown"
    return (
        f"If the machines have several networks (interfaces here: {found}), name the one that they share: "
        'nbaccel.init(runtime_env={"env_vars": {"NCCL_SOCKET_IFNAME": ..., "GLOO_SOCKET_IFNAME": ...}}).'
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


# ---- which torch devices a worker has, and which backend connects the ranks
#
# ```
#   what the worker holds          torch has it       torch has it not, and the device is
#                                                     logical, simulated     real
#   nothing                        cpu, gloo          cpu, gloo              cpu, gloo
#   GPU of NVIDIA, AMD             cuda:i, nccl       cpu, gloo              an error that names the build
#   GPU of Intel                   xpu:i, xccl        cpu, gloo              the same
#   NPU, HPU                       npu:i, hpu:i, hccl cpu, gloo              the same
#   TPU                            an error: torch has no backend for it that nbaccel knows
# ```
# Two ranks on one device are connected by gloo: nccl and its like refuse a device that has another rank.


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


# ---- TorchTrainer


class TorchTrainer(DataParallelTrainer):
    """Run a PyTorch training function in all workers of a group, with a process group that is ready when it begins.

    The options are those of nbaccel.train.data_parallel_trainer.DataParallelTrainer, and `torch_config`.

    >>> def train_func():
    ...     import torch
    ...     model = train.torch.prepare_model(torch.nn.Linear(4, 1))
    ...     train.report({"out": tuple(model(torch.ones(2, 4)).shape)[0]})
    >>> TorchTrainer(train_func, scaling_config=train.ScalingConfig(num_workers=2)).fit().metrics
    {'out': 2}
    """

    def __init__(
        self,
        train_loop_per_worker: TrainLoop,
        *,
        torch_config: TorchConfig | None = None,
        **options: Unpack[TrainerKeywords],
    ) -> None:
        if torch_config is not None and not isinstance(torch_config, TorchConfig):
            raise ValueError(
                f"torch_config takes nbaccel.train.torch.TorchConfig, not {type(torch_config).__module__}."
                f"{type(torch_config).__name__}."
            )
        super().__init__(train_loop_per_worker, backend_config=torch_config or TorchConfig(), **options)
