"""Decides which worker gets which rank, and which devices it sees. Pure: takes facts of the workers, returns seats.

Ranks are as in Ray Train: workers of one node follow each other, nodes are in the order in which they first appear,
and inside of a node the lowest device comes first; workers without a device keep the order in which they were made. Two
rules are ours. The driver's node comes first if it holds a worker. Devices are in numeric order, or in that of the
node's own table, never in the order of their names as texts, in which "10" comes before "2".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that a worker reports about itself.

    node_id, address, host  its node's id and IP address, its machine's name
    device_ids              by resource, as get_accelerator_ids(): only what was assigned, {"GPU": ["2", "3"]}
    variables               the vendors' variables that its environment has, {"CUDA_VISIBLE_DEVICES": "2,3"}
    families                which variable belongs to which of its resources, {"CUDA_VISIBLE_DEVICES": "GPU"}
    folder                  where it puts the run's files: the run's folder, or a temporary one where it cannot
    """

    node_id: str
    address: str
    host: str
    pid: int
    device_ids: Mapping[str, Sequence[str]] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Seat:
    """A worker's place in its worker group.

    worker        its number in the order in which workers were made
    variables     what its environment has to say, so that it sees the devices of all workers of its node
    device_index  where its own devices are among those that it sees, by resource: {"GPU": [2, 3]}
    shared        somewhere in the worker group, two workers hold parts of one device
    """

    worker: int
    facts: Facts
    rank: int
    world_size: int
    local_rank: int
    local_world_size: int
    node_rank: int
    nodes: int
    variables: dict[str, str] = field(default_factory=dict)
    device_index: dict[str, list[int]] = field(default_factory=dict)
    shared: bool = False


# (node id, resource, device id) -> position in the node's table of devices
Positions = Mapping[tuple[str, str, str], int]


def seats(facts: Sequence[Facts], positions: Positions, *, driver_node: str = "", share: bool = True) -> list[Seat]:
    """The seats by rank. `share`: every worker sees the devices of all workers of its node."""
    nodes = list(dict.fromkeys(each.node_id for each in facts))
    nodes.sort(key=lambda node: node != driver_node)  # stable: the others keep their order
    found: list[Seat] = []
    for node_rank, node in enumerate(nodes):
        here = [number for number, each in enumerate(facts) if each.node_id == node]
        here.sort(key=lambda number: _lowest(facts[number], positions))
        for local_rank, number in enumerate(here):
            rank = len(found)
            found.append(Seat(number, facts[number], rank, len(facts), local_rank, len(here), node_rank, len(nodes)))
    placed = [_with_devices(seat, found, positions, share) for seat in found]
    shared = any(seat.shared for seat in placed)  # all ranks have to choose the same backend
    return [replace(seat, shared=shared) for seat in placed]


def _lowest(facts: Facts, positions: Positions) -> tuple[Any, ...]:
    """A sort key: the lowest device of the worker; equal for all workers without one."""
    keys = [
        _device_key(facts.node_id, resource, id, positions)
        for resource, ids in sorted(facts.device_ids.items())
        for id in ids
    ]
    return min(keys, default=())


def _device_key(node_id: str, resource: str, id: str, positions: Positions) -> tuple[Any, ...]:
    if id.isdecimal():
        return (0, int(id), "")
    position = positions.get((node_id, resource, id))
    if position is not None:
        return (0, position, id)
    return (1, *[(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", id) if part])


def _with_devices(seat: Seat, all_seats: Sequence[Seat], positions: Positions, share: bool) -> Seat:
    here = [other for other in all_seats if other.facts.node_id == seat.facts.node_id]
    variables: dict[str, str] = {}
    index: dict[str, list[int]] = {}
    for variable, resource in seat.facts.families.items():
        mine = _entries(seat, variable, resource)
        if not mine:
            continue
        seen = _union(here if share else [seat], variable, resource, positions)
        variables[variable] = ",".join(seen)
        index[resource] = [seen.index(entry) for _, entry in mine]
    for resource, ids in seat.facts.device_ids.items():
        if ids and resource not in index:
            index[resource] = _by_inherited(seat.facts, resource, ids)
    return replace(seat, variables=variables, device_index=index, shared=_is_shared(seat, here))


def _entries(seat: Seat, variable: str, resource: str) -> list[tuple[str, str]]:
    """Pairs (device id, its entry in the variable); [] unless the variable names exactly the worker's devices."""
    ids = list(seat.facts.device_ids.get(resource, ()))
    entries = [entry for entry in seat.facts.variables.get(variable, "").split(",") if entry]
    return list(zip(ids, entries, strict=True)) if len(ids) == len(entries) else []


def _union(here: Sequence[Seat], variable: str, resource: str, positions: Positions) -> list[str]:
    pairs = [(id, entry, other) for other in here for id, entry in _entries(other, variable, resource)]
    pairs.sort(key=lambda pair: _device_key(pair[2].facts.node_id, resource, pair[0], positions))
    return list(dict.fromkeys(entry for _, entry, _ in pairs))


def _by_inherited(facts: Facts, resource: str, ids: Sequence[str]) -> list[int]:
    """The positions of devices if the variable is still the user's: as it names them, otherwise by their numbers."""
    for variable, family in facts.families.items():
        entries = facts.variables.get(variable, "").split(",")
        if family == resource and all(id in entries for id in ids):
            return [entries.index(id) for id in ids]
    return [int(id) if id.isdecimal() else number for number, id in enumerate(ids)]


def _is_shared(seat: Seat, here: Sequence[Seat]) -> bool:
    mine = {(resource, id) for resource, ids in seat.facts.device_ids.items() for id in ids}
    others = {
        (resource, id)
        for other in here
        if other.worker != seat.worker
        for resource, ids in other.facts.device_ids.items()
        for id in ids
    }
    return bool(mine & others)
