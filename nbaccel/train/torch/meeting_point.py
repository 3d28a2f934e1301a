"""The store at which the ranks meet before torch connects them. A rank that does not come is named."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from nbaccel.train.ranks import Seat

_INTERFACES = "/sys/class/net"


def reach(torch: Any, seat: Seat, host: str, port: int, patience: timedelta) -> Any:
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
