"""Collective operations between actors: each calls the same function on its own tensor, as in Ray's `util.collective`.

>>> @nbaccel.remote
... class Worker:
...     def setup(self, size, rank):
...         init_collective_group(size, rank, backend="gloo")
...     def sum(self, array):
...         allreduce(array)
...         return array

torch carries them out (`pip install torch`): "gloo" for arrays in memory, "nccl" for those on NVIDIA devices. Tensors
are numpy arrays, torch tensors or objects with DLPack (cupy), and are changed in place.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from importlib.util import find_spec
from typing import Any

import nbaccel
from nbaccel import engine as engines
from nbaccel.elsewhere import submodules_by_attribute
from nbaccel.handles.internal_work import NAMESPACE, internal_actor
from nbaccel.proc import LOOPBACK
from nbaccel.util.lookup import get_node_ip_address


class Backend:
    """The libraries that carry the operations out; `Backend("gloo")` is "GLOO". Raises ValueError for another."""

    NCCL = "NCCL"
    GLOO = "GLOO"
    UNRECOGNIZED = "unrecognized"

    def __new__(cls, name: str) -> str:  # type: ignore[misc]
        wanted = name.upper().removeprefix("TORCH_")
        if wanted not in (cls.NCCL, cls.GLOO):
            raise ValueError(f"Unrecognized backend {name!r}: choose {cls.NCCL} or {cls.GLOO}.")
        return wanted


class ReduceOp(Enum):
    """The operation that combines tensors."""

    SUM = 0
    PRODUCT = 1
    MIN = 2
    MAX = 3


def torch_available() -> bool:
    return find_spec("torch") is not None


def cupy_available() -> bool:
    return find_spec("cupy") is not None


__getattr__ = submodules_by_attribute(__name__, "collective", "types")


@dataclass(slots=True)
class GroupMembership:
    """One process's membership of a group."""

    name: str
    rank: int
    world_size: int
    backend: str
    process_group: Any  # torch's
    store: Any  # of rank 0 the others' meeting point: it lives as long as the group


_groups: dict[str, GroupMembership] = {}


def _torch() -> Any:
    return importlib.import_module("torch")  # takes seconds, so nobody imports it who does not call anything here


def _distributed() -> Any:
    return importlib.import_module("torch.distributed")


def gloo_available() -> bool:
    """Whether groups can use gloo, which needs torch."""
    return find_spec("torch") is not None


def nccl_available() -> bool:
    """Whether groups can use nccl, which needs a torch for CUDA and a GPU that this process sees."""
    if find_spec("torch") is None:
        return False
    return bool(_distributed().is_nccl_available() and _torch().cuda.is_available())


def is_backend_available(backend: str) -> bool:
    """Whether groups can use this backend, `"gloo"` or `"nccl"`; False for others."""
    return {Backend.GLOO: gloo_available, Backend.NCCL: nccl_available}.get(backend.upper(), lambda: False)()


# ---- groups


class Meeting:
    """Where the ranks of a group wait for each other and learn where rank 0 listens."""

    def __init__(self) -> None:
        self._here: dict[int, str] = {}
        self._all: asyncio.Future[str] | None = None

    async def meet(self, rank: int, size: int, address: str) -> str:
        everyone = self._all = self._all or asyncio.get_running_loop().create_future()
        self._here[rank] = address
        if len(self._here) == size:
            everyone.set_result(self._here[0])
            self._here, self._all = {}, None
        return await everyone


def init_collective_group(
    world_size: int, rank: int, backend: str = Backend.NCCL, group_name: str = "default", gloo_timeout: int = 30000
) -> None:
    """Join a group; each of its `world_size` actors or tasks calls this with its own rank, and waits for the others.

    `gloo_timeout` (milliseconds) limits joining and each operation. Raises ValueError for invalid arguments,
    RuntimeError outside of an actor or task, for a group it has joined, or if the backend is missing.
    """
    _check_inside()
    kind = _checked(world_size, rank, backend, group_name)
    if group_name in _groups:
        raise RuntimeError(
            f"This process is in the group {group_name!r} already: destroy_collective_group() ends that."
        )
    timeout = timedelta(milliseconds=gloo_timeout)
    store = _store(world_size, rank, group_name, timeout)
    _groups[group_name] = GroupMembership(
        group_name, rank, world_size, kind, _made(kind, store, rank, world_size, timeout), store
    )


def _checked(world_size: int, rank: int, backend: str, group_name: str) -> str:
    if not group_name or not isinstance(group_name, str):
        raise ValueError(f"group_name {group_name!r} needs to be a string.")
    if not 0 <= rank < world_size:
        raise ValueError(f"rank must be at least 0 and below world_size, but they are {rank} and {world_size}.")
    kind = str(backend).upper().removeprefix("TORCH_")
    if kind not in (Backend.NCCL, Backend.GLOO):
        raise ValueError(f"Unrecognized backend: {backend!r}. Only NCCL and GLOO are supported.")
    if not is_backend_available(kind):
        why = "torch is not installed" if find_spec("torch") is None else "torch finds no NVIDIA device here"
        raise RuntimeError(f"The backend {kind} is not available: {why}. backend='gloo' works with arrays in memory.")
    return kind


def _store(size: int, rank: int, group_name: str, timeout: timedelta) -> Any:
    """The key-value store that the group's members find each other in; rank 0 serves it."""
    meeting_point = _distributed().TCPStore
    host, store, address = _meeting_host(), None, ""
    if rank == 0:
        store = meeting_point(host, 0, size, is_master=True, timeout=timeout, wait_for_workers=False)
        address = f"{host}:{store.port}"
    options: dict[str, Any] = {"name": f"collective_{group_name}", "namespace": NAMESPACE, "get_if_exists": True}
    meeting = internal_actor(Meeting, num_cpus=0, **options).remote()
    address = nbaccel.get(meeting.meet.remote(rank, size, address), timeout=timeout.total_seconds())
    if store is None:
        host, _, port = address.rpartition(":")
        store = meeting_point(host, int(port), size, is_master=False, timeout=timeout, wait_for_workers=False)
    return store


def _meeting_host() -> str:
    """Where rank 0 listens: on a cluster of one machine, where no other machine can connect."""
    return get_node_ip_address() if engines.current().name == "ray" else LOOPBACK


def _made(kind: str, store: Any, rank: int, size: int, timeout: timedelta) -> Any:
    dist = _distributed()
    if kind == Backend.GLOO:
        return dist.ProcessGroupGloo(store, rank, size, timeout)
    return dist.ProcessGroupNCCL(store, rank, size, dist.ProcessGroupNCCL.Options())


def create_collective_group(
    actors: Sequence[Any],
    world_size: int,
    ranks: Sequence[int],
    backend: str = Backend.NCCL,
    group_name: str = "default",
    gloo_timeout: int = 30000,
) -> None:
    """From the driver, put these actors into a group with these ranks. Returns when all have joined."""
    if len(actors) != len(ranks):
        raise RuntimeError(f"Each actor needs one rank, but there are {len(actors)} actors and {len(ranks)} ranks.")
    if sorted(ranks) != list(range(world_size)):
        raise RuntimeError(f"Ranks must be a permutation of 0 to {world_size - 1}, but are {list(ranks)}.")
    joining = [
        actor.__ray_call__.remote(_join, world_size, rank, backend, group_name, gloo_timeout)
        for actor, rank in zip(actors, ranks, strict=True)
    ]
    nbaccel.get(joining)


def _join(_actor: Any, *arguments: Any) -> None:
    init_collective_group(*arguments)


def destroy_collective_group(group_name: str = "default") -> None:
    """Leave a group. Nothing happens if this process is not in it."""
    _check_inside()
    _groups.pop(group_name, None)


def is_group_initialized(group_name: str = "default") -> bool:
    """Whether this process has joined a group of this name."""
    return group_name in _groups


def get_rank(group_name: str = "default") -> int:
    """This process's rank, from 0; -1 if it is not in the group."""
    _check_inside()
    return _groups[group_name].rank if group_name in _groups else -1


def get_collective_group_size(group_name: str = "default") -> int:
    """The number of members; -1 if this process is not one."""
    _check_inside()
    return _groups[group_name].world_size if group_name in _groups else -1


def get_group_handle(group_name: str = "default") -> GroupMembership:
    """This process's membership. Raises RuntimeError if it is not in the group."""
    _check_inside()
    if group_name not in _groups:
        raise RuntimeError(
            f"The collective group {group_name!r} is not initialized in this process: call init_collective_group() in "
            "each of its actors, or create_collective_group() outside."
        )
    return _groups[group_name]


def _check_inside() -> None:
    from nbaccel import engine

    started = engine.started()
    if started is None or not started.context().is_worker:
        raise RuntimeError("The collective APIs shall be only used inside an actor or task.")


# ---- operations


def allreduce(tensor: Any, group_name: str = "default", op: ReduceOp = ReduceOp.SUM) -> None:
    """Replace every member's tensor with the sum (or another `op`) of all."""
    group, own = get_group_handle(group_name), _as_torch(tensor)
    _reduced(group, own, op)


def reduce(tensor: Any, dst_rank: int = 0, group_name: str = "default", op: ReduceOp = ReduceOp.SUM) -> None:
    """Replace the tensor of `dst_rank` with the sum (or another `op`) of all."""
    dist = _distributed()
    group, own = get_group_handle(group_name), _as_torch(tensor)
    _check_rank(group, dst_rank)
    options = dist.ReduceOptions()
    options.reduceOp, options.rootRank = _torchs(op), dst_rank
    sent = own if group.rank == dst_rank else own.clone()  # a library may use the others' as room to work in
    group.process_group.reduce([sent], options).wait()


def broadcast(tensor: Any, src_rank: int = 0, group_name: str = "default") -> None:
    """Replace every member's tensor with that of `src_rank`."""
    dist = _distributed()
    group, own = get_group_handle(group_name), _as_torch(tensor)
    _check_rank(group, src_rank)
    options = dist.BroadcastOptions()
    options.rootRank, options.rootTensor = src_rank, 0
    group.process_group.broadcast([own], options).wait()


def allgather(tensor_list: list[Any], tensor: Any, group_name: str = "default") -> None:
    """Fill every member's `tensor_list`, `world_size` tensors of this shape, with the tensors of all by rank."""
    group, own = get_group_handle(group_name), _as_torch(tensor)
    group.process_group.allgather([_list_as_torch(group, tensor_list)], [own]).wait()


def reducescatter(
    tensor: Any, tensor_list: list[Any], group_name: str = "default", op: ReduceOp = ReduceOp.SUM
) -> None:
    """Sum (or another `op`) the `tensor_list`s of all members; `tensor` gets the element of this member's rank."""
    torch = _torch()
    group, own = get_group_handle(group_name), _as_torch(tensor)
    together = torch.stack(_list_as_torch(group, tensor_list))
    _reduced(group, together, op)
    own.copy_(together[group.rank].reshape(own.shape))


def barrier(group_name: str = "default") -> None:
    """Wait until every member has called this."""
    get_group_handle(group_name).process_group.barrier().wait()


def send(tensor: Any, dst_rank: int, group_name: str = "default") -> None:
    """Send a tensor to `dst_rank`, which calls recv()."""
    group = _with_other(group_name, dst_rank)
    group.process_group.send([_as_torch(tensor)], dst_rank, 0).wait()


def recv(tensor: Any, src_rank: int, group_name: str = "default") -> None:
    """Receive a tensor, which `src_rank` sends by send(), into `tensor` of the same shape and type."""
    group = _with_other(group_name, src_rank)
    group.process_group.recv([_as_torch(tensor)], src_rank, 0).wait()


def _reduced(group: GroupMembership, tensor: Any, op: ReduceOp) -> None:
    options = _distributed().AllreduceOptions()
    options.reduceOp = _torchs(op)
    group.process_group.allreduce([tensor], options).wait()


def _torchs(op: ReduceOp) -> Any:
    return getattr(_distributed().ReduceOp, op.name)


def _with_other(group_name: str, rank: int) -> GroupMembership:
    group = get_group_handle(group_name)
    _check_rank(group, rank)
    if rank == group.rank:
        raise RuntimeError(f"The rank {rank} is this process's own: it cannot send to itself.")
    return group


def _check_rank(group: GroupMembership, rank: int) -> None:
    if not 0 <= rank < group.world_size:
        raise ValueError(f"rank {rank} is not one of the group {group.name!r}, which are 0 to {group.world_size - 1}.")


def _list_as_torch(group: GroupMembership, tensors: Any) -> list[Any]:
    if not isinstance(tensors, list) or len(tensors) != group.world_size:
        raise RuntimeError(f"tensor_list must be a list of {group.world_size} tensors, one for each rank.")
    return [_as_torch(tensor) for tensor in tensors]


def _as_torch(tensor: Any) -> Any:
    """The same memory as a torch tensor."""
    torch = _torch()
    if isinstance(tensor, torch.Tensor):
        return tensor
    if type(tensor).__module__.partition(".")[0] == "numpy" and hasattr(tensor, "flags"):
        if not tensor.flags.writeable:
            raise ValueError("The array is read-only, as arguments and results of tasks are: pass array.copy().")
        return torch.from_numpy(tensor)
    if hasattr(tensor, "__dlpack__"):
        return torch.from_dlpack(tensor)
    raise RuntimeError(
        f"Unrecognized tensor type {type(tensor)}: pass a numpy array, a torch tensor or another DLPack object."
    )


__all__ = [
    "Backend", "ReduceOp", "allgather", "allreduce", "barrier", "broadcast", "create_collective_group",
    "destroy_collective_group", "get_collective_group_size", "get_group_handle", "get_rank", "gloo_available",
    "init_collective_group", "is_backend_available", "is_group_initialized", "nccl_available", "recv", "reduce",
    "reducescatter", "send",
]  # fmt: skip
