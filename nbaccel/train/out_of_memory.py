"""Who else uses the device of a rank that ran out of device memory."""

from __future__ import annotations

from collections.abc import Sequence

from nbaccel.train.ranks import Seat
from nbaccel.views import wording
from nbaccel.views.snapshot import DeviceRow


def is_out_of_memory(kind: str) -> bool:
    """Whether an exception of this class says that a device has no memory left: torch's, CuPy's."""
    return kind in ("OutOfMemoryError", "CudaOutOfMemoryError")


def sentences(seat: Seat, gang: Sequence[Seat], peak_bytes: int | None, devices: Sequence[DeviceRow]) -> str:
    """The memory of the rank's devices, what the rank itself had at most, and who else is on them; "" without a device.

    gang     the seats of all ranks, of which some may share a device
    devices  of a snapshot; what nobody has measured is left out
    """
    mine = [row for row in devices if _holds(seat, row)]
    if not mine:
        return ""
    peak = f" Rank {seat.rank} had at most {wording.size(peak_bytes)}." if peak_bytes is not None else ""
    return " ".join(_device(row) + peak * (row is mine[0]) + _others(row, seat, gang) for row in mine)


def _holds(seat: Seat, row: DeviceRow) -> bool:
    return row.node_id == seat.facts.node_id and row.id in seat.facts.device_ids.get(row.resource, ())


def _device(row: DeviceRow) -> str:
    used = row.metrics.memory_used_bytes if row.metrics is not None else None
    total = row.memory_bytes or (row.metrics.memory_total_bytes if row.metrics is not None else None)
    if total is None:
        return f"{row.resource} {row.id} has no memory left."
    in_use = f", of which {wording.size(used)} are in use" if used is not None else ""
    return f"{row.resource} {row.id} has {wording.size(total)}{in_use}."


def _others(row: DeviceRow, seat: Seat, gang: Sequence[Seat]) -> str:
    names = {each.pid: each.name for each in row.holders if each.pid is not None}
    names |= {other.facts.pid: f"rank {other.rank}" for other in gang if _holds(other, row)}
    measured = dict(row.metrics.processes) if row.metrics is not None else {}
    others = [pid for pid in names | measured if pid != seat.facts.pid]
    if not others:
        return " Nobody else is known to use it."
    words = [_process(names.get(pid, "a program outside of nbaccel"), pid, measured.get(pid)) for pid in others]
    return f" Others on it: {', '.join(words)}."


def _process(name: str, pid: int, size_bytes: int | None) -> str:
    return f"{name} (pid {pid}{f', {wording.size(size_bytes)}' if size_bytes is not None else ''})"
