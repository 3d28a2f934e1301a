"""How many nodes, devices and workers a cluster has, whatever part of them a snapshot has rows of.

A snapshot has rows of some nodes, devices and workers of a large cluster: of those that are held or in trouble first.
Its counts are of all. A snapshot without counts has all rows, and is counted here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar

import msgspec

from nbaccel.views import wording
from nbaccel.views.snapshot import DeviceCount, DeviceRow, NodeRow, Snapshot

MOST_NODES = 256
MOST_GONE = 32  # of them, nodes that are not here any more: the newest
MOST_DEVICES = 1_024
MOST_WORKERS = 256
RESTING = ("IDLE", "SPARE")  # workers that have rows only if there is room
FIRST = "those that are held or in trouble are shown"
ROW = TypeVar("ROW")


# ---- what views ask


def devices(snapshot: Snapshot) -> list[DeviceCount]:
    """The numbers of the devices that living nodes offer, by resource."""
    return snapshot.device_counts or count_devices(snapshot.nodes, snapshot.devices)


def nodes_alive(snapshot: Snapshot) -> int:
    return snapshot.node_counts.get("alive", 0) or sum(node.alive for node in snapshot.nodes)


def resources(snapshot: Snapshot) -> dict[str, tuple[float, float]]:
    """What is free of each resource on all living nodes, and all of it."""
    return snapshot.resources or sum_resources(snapshot.nodes)


def more_devices(snapshot: Snapshot) -> int:
    """How many offered devices have no row."""
    counted = sum(count.total for count in snapshot.device_counts)
    return max(0, counted - sum(row.offered for row in snapshot.devices)) if counted else 0


def more_nodes(snapshot: Snapshot) -> int:
    """How many nodes that are here have no row."""
    alive = snapshot.node_counts.get("alive", 0)
    return max(0, alive - sum(node.alive for node in snapshot.nodes)) if alive else 0


def devices_left_out(snapshot: Snapshot) -> str:
    """ "and 78976 more devices: those that are held or in trouble are shown"; "" if each has a row."""
    return _left_out(more_devices(snapshot), "device")


def nodes_left_out(snapshot: Snapshot) -> str:
    """ "and 9744 more nodes: those that are held or in trouble are shown"; "" if each has a row."""
    return _left_out(more_nodes(snapshot), "node")


def _left_out(number: int, what: str) -> str:
    return f"and {wording.count(number, f'more {what}')}: {FIRST}" if number else ""


# ---- counting rows


def count_devices(nodes: Iterable[NodeRow], rows: Iterable[DeviceRow]) -> list[DeviceCount]:
    """The numbers of the offered devices of nodes that have not gone."""
    gone = {node.node_id for node in nodes if not node.alive}
    counts: dict[str, DeviceCount] = {}
    for row in rows:
        if row.offered and row.node_id not in gone:
            count = counts.get(row.resource)
            if count is None:
                count = counts[row.resource] = DeviceCount(row.resource)
            _count(count, row)
    return list(counts.values())


def _count(count: DeviceCount, row: DeviceRow) -> None:
    count.total += 1
    count.held += bool(row.holders)
    count.taken += bool(row.free_reason and not row.holders)
    count.logical += row.kind == "logical"
    count.simulated += row.kind == "simulated"
    if row.holders and row.free > 0:
        count.least_free = min(count.least_free, row.free) if count.shared else row.free
        count.most_free = max(count.most_free, row.free)
        count.shared += 1


def sum_resources(nodes: Iterable[NodeRow]) -> dict[str, tuple[float, float]]:
    """What is free of each resource on the living nodes among them, and all of it."""
    sums: dict[str, tuple[float, float]] = {}
    for node in nodes:
        for name, quantity in node.totals.items() if node.alive else ():
            free, total = sums.get(name, (0.0, 0.0))
            sums[name] = free + node.available.get(name, 0), total + quantity
    return sums


def counted(snapshot: Snapshot) -> Snapshot:
    """The same snapshot, which has all rows, with counts."""
    alive = sum(node.alive for node in snapshot.nodes)
    return msgspec.structs.replace(
        snapshot,
        node_counts={"alive": alive, "gone": len(snapshot.nodes) - alive},
        device_counts=count_devices(snapshot.nodes, snapshot.devices),
        worker_counts=dict(Counter(row.state for row in snapshot.workers)),
        resources=sum_resources(snapshot.nodes),
    )


# ---- leaving rows out


def capped(
    snapshot: Snapshot, nodes: int = MOST_NODES, devices: int = MOST_DEVICES, workers: int = MOST_WORKERS
) -> Snapshot:
    """The snapshot with at most so many rows; one without counts has all rows, and is counted first."""
    whole = snapshot if snapshot.node_counts else counted(snapshot)
    shown_nodes, shown_devices = fewer(whole.nodes, whole.devices, nodes, devices)
    return msgspec.structs.replace(
        whole,
        nodes=shown_nodes,
        devices=shown_devices,
        workers=first(whole.workers, workers, lambda row: row.state in RESTING),
    )


def fewer(
    nodes: Sequence[Any], devices: Sequence[Any], most_nodes: int, most_devices: int
) -> tuple[list[Any], list[Any]]:
    """So many of the nodes, with so many of their devices, in their order. Rows of a snapshot or of a page."""
    if len(nodes) <= most_nodes and len(devices) <= most_devices:
        return list(nodes), list(devices)
    of: dict[str, list[Any]] = {}
    for row in devices:
        of.setdefault(row.node_id, []).append(row)
    gone = {node.node_id for node in islice((node for node in reversed(nodes) if not node.alive), MOST_GONE)}
    here = [node for node in nodes if node.alive or node.node_id in gone]
    chosen = choose(here, lambda node: _calm(node, of.get(node.node_id, ())), most_nodes, most_devices,
                    lambda node: len(of.get(node.node_id, ())))  # fmt: skip
    names = {node.node_id for node in chosen}
    return chosen, first([row for row in devices if row.node_id in names], most_devices, _ease)


def choose(
    nodes: Sequence[ROW], calm: Callable[[ROW], int], most: int, most_devices: int, devices: Callable[[ROW], int]
) -> list[ROW]:
    """The least calm nodes, in their order: so many, and no more than have so many devices together; at least one."""
    places = sorted(range(len(nodes)), key=lambda place: calm(nodes[place]))
    room = most_devices
    kept: list[int] = []
    for place in places[:most]:
        room -= devices(nodes[place])
        if room < 0 and kept:
            break
        kept.append(place)
    return [nodes[place] for place in sorted(kept)]


TROUBLED, BUSY, MOVING, IDLE = range(1, 5)  # how calm a node is; the head's node comes before all others


def _calm(node: Any, devices: Iterable[Any]) -> int:
    if node.is_head:
        return 0
    if not node.alive or node.kept_by or any(row.free_reason for row in devices):
        return TROUBLED
    if any(row.holders for row in devices) or any(
        node.available.get(name, 0) < total for name, total in node.totals.items()
    ):
        return BUSY
    return MOVING if node.leaves_at is not None else IDLE


def _ease(row: Any) -> int:
    return 0 if row.free_reason else 1 if row.holders else 2


def first(rows: Sequence[ROW], most: int, calm: Callable[[ROW], int]) -> list[ROW]:
    """So many of the rows, the least calm ones, in their order."""
    if len(rows) <= most:
        return list(rows)
    places = sorted(range(len(rows)), key=lambda place: calm(rows[place]))[:most]
    return [rows[place] for place in sorted(places)]
