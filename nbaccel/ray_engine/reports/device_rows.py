"""The devices of a Ray cluster: Ray counts them and knows the type of a node's first; tasks report which they hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec
import ray

from nbaccel.accelerators import RESOURCES, vendor_for_resource, vendor_of
from nbaccel.handles.options import ResourceOptions
from nbaccel.quantities import TYPE_PREFIX, UNIT
from nbaccel.ray_engine.reports.reports import DeviceSample, GroupFacts
from nbaccel.ray_engine.reports.service_actors import Agent
from nbaccel.scheduling.reasons import bytes_text, listed
from nbaccel.views.snapshot import ActorRow, DeviceMetrics, DeviceRow, Holder, NodeRow, Snapshot, TaskRow
from nbaccel.views.unused_devices import HeldDevice

if TYPE_CHECKING:
    from nbaccel.ray_engine.reports.snapshot_building import SnapshotFacts

_TYPE_LABEL = "ray.io/accelerator-type"
_OTHERS = "held by another job of this cluster"
_UNREPORTED = "held by work that has not reported yet, or by another job of this cluster"
MOST_GROUPS = 3
_METRICS = set(DeviceMetrics.__struct_fields__)


def rows(nodes: list[NodeRow], tasks: list[TaskRow], actors: list[ActorRow], known: SnapshotFacts) -> list[DeviceRow]:
    """One row for each whole device that a living node offers."""
    holders = _holders(tasks, actors, known)
    made: list[DeviceRow] = []
    for node in nodes:
        for resource in RESOURCES:
            count = int(node.totals.get(resource, 0)) if node.alive else 0
            if count:
                samples = known.samples.get(node.node_id, []) if resource == "GPU" else []
                of_family = _of_family(node, resource, count, holders, samples)
                reason = _UNREPORTED if _some_unreported(resource, tasks, actors) else _OTHERS
                groups = _groups_on(node.node_id, resource, known.tables["groups"])
                reason = f"reserved by {listed(groups)}, or {reason}" if groups else reason
                _take_off_others(of_family, node.available.get(resource, 0.0), reason)
                made += of_family
    return made


def unheld(nodes: list[NodeRow]) -> list[DeviceRow]:
    """The devices that living nodes offer, with nobody on them."""
    alive = [node for node in nodes if node.alive]
    counts = [(node, name, int(node.totals.get(name, 0))) for node in alive for name in RESOURCES]
    return [row for node, name, count in counts for row in _of_family(node, name, count, {}, [])]


def _of_family(
    node: NodeRow,
    resource: str,
    count: int,
    holders: dict[tuple[str, str, str], list[Holder]],
    samples: list[DeviceSample],
) -> list[DeviceRow]:
    held = [id for where, what, id in holders if where == node.node_id and what == resource]
    made = []
    for index, id in enumerate(_ids(count, held)):
        sample = samples[int(id)] if id.isdigit() and int(id) < len(samples) else None
        row = _row(node, resource, index, id, sample)
        row.holders = holders.get((node.node_id, resource, id), [])
        row.free = max(0.0, round(1.0 - sum(holder.amount for holder in row.holders), 4))
        made.append(row)
    return made


def _ids(count: int, held: list[str]) -> list[str]:
    """0, 1, … unless the node was restricted to others: those that tasks name take the places of the last unnamed."""
    ids = [str(index) for index in range(count)]
    for id in held:
        if id not in ids:
            place = next((i for i in reversed(range(count)) if ids[i] not in held), None)
            if place is not None:
                ids[place] = id
    return ids


def _row(node: NodeRow, resource: str, index: int, id: str, sample: DeviceSample | None) -> DeviceRow:
    kind = type_of(node)
    vendor = vendor_for_resource(resource) or vendor_of(_gpu_vendor(kind))
    row = DeviceRow(node.node_id, resource, index, id, vendor.name, vendor.family, "logical", type=kind)
    if sample is not None:
        row.kind, row.name, row.uuid = "real", sample["name"] or "", sample["uuid"]
        row.metrics = DeviceMetrics(**{name: value for name, value in sample["metrics"].items() if name in _METRICS})
        row.memory_bytes = row.metrics.memory_total_bytes
    else:
        row.name = f"logical {vendor.family}"
    return row


def held(devices: list[DeviceRow], nodes: list[NodeRow]) -> list[HeldDevice]:
    """The devices that are held, as they were measured; a node's agent may not have answered in time."""
    names = {node.node_id: f" of {node.name}" for node in nodes} if len(nodes) > 1 else {}
    return [
        HeldDevice(
            f"{row.node_id}/{row.resource}/{row.id}",
            f"{row.resource} {row.id}{names.get(row.node_id, '')}",
            row.id,
            row.holders,
            row.metrics.utilisation_percent if row.metrics is not None else None,
            row.metrics is not None,
            row.node_id,
        )
        for row in devices
        if row.holders
    ]


def type_of(node: NodeRow) -> str | None:
    """The accelerator type of a node: Ray tells one for all of its devices."""
    label = node.labels.get(_TYPE_LABEL)
    named = [name.removeprefix(TYPE_PREFIX) for name in node.totals if name.startswith(TYPE_PREFIX)]
    return label or (named[0] if named else None)


def _gpu_vendor(kind: str | None) -> str:
    if kind and kind.startswith("AMD-"):
        return "amd"
    return "intel" if kind and kind.startswith("Intel-") else "nvidia"


def _some_unreported(resource: str, tasks: list[TaskRow], actors: list[ActorRow]) -> bool:
    """Whether work of ours may hold such devices without having said so."""
    return any(row.demand.get(resource) and row.state == "PENDING_NODE_ASSIGNMENT" for row in tasks) or any(
        row.demand.get(resource) and row.state == "ALIVE" and not row.device_ids for row in actors
    )


def _groups_on(node_id: str, resource: str, groups: list[GroupFacts]) -> list[str]:
    """The placement groups that have bundles with such devices on a node."""
    return [
        f"placement group {row['name'] or row['placement_group_id']}"
        for row in groups
        if row["state"] == "CREATED"
        and any(
            bundle.get(resource) and (row.get("bundles_to_node_id") or {}).get(index) == node_id
            for index, bundle in row["bundles"].items()
        )
    ][:MOST_GROUPS]


def _take_off_others(devices: list[DeviceRow], available: float, reason: str) -> None:
    """What Ray gives out beside what we know of: other jobs, and tasks that have not reported yet."""
    excess = sum(device.free for device in devices) - available
    for device in reversed(devices):
        if excess <= 0.0001:
            return
        taken = min(device.free, excess)
        if taken > 0:
            device.free = round(device.free - taken, 4)
            device.free_reason = reason
            excess -= taken


def _holders(
    tasks: list[TaskRow], actors: list[ActorRow], known: SnapshotFacts
) -> dict[tuple[str, str, str], list[Holder]]:
    found: dict[tuple[str, str, str], list[Holder]] = {}
    for task in tasks:
        if task.state == "RUNNING" and task.kind == "task":
            holder = (task.name, task.task_id, None, task.pid, task.cell, task.started_at)
            _note(found, task.node_id, task.device_ids, task.demand, holder)
    for actor in actors:
        if actor.state == "ALIVE":
            holder = (actor.class_name, None, actor.actor_id, actor.pid, actor.cell, actor.since)  # type: ignore[assignment]
            _note(found, actor.node_id, actor.device_ids, actor.demand, holder)
    return found


def _note(
    found: dict[tuple[str, str, str], list[Holder]],
    node_id: str | None,
    device_ids: dict[str, list[str]],
    demand: dict[str, float],
    holder: tuple[str, str | None, str | None, int | None, str, float | None],
) -> None:
    name, task_id, actor_id, pid, cell, since = holder
    for resource, ids in device_ids.items():
        amount = min(demand.get(resource, 1.0), 1.0)
        for id in ids:
            found.setdefault((node_id or "", resource, id), []).append(
                Holder(name, amount, task_id, actor_id, pid, cell, since)
            )


# ----
# `gpu_memory=` on Ray, which only knows fractions of devices: turns bytes into a fraction of the best fitting device
#
# How much memory a device has is asked of the service actor on each node that has GPUs, once for each set of nodes.
# Where kinds of different sizes stand in one cluster, the kind is asked for too, since half of one is not half of
# another.


Options = TypeVar("Options", bound=ResourceOptions)
FIRST_ANSWER_S = 60.0  # includes the start of the actors, which a busy machine takes its time for
_GPU = "GPU"


class Kind(msgspec.Struct, frozen=True):
    """GPUs of one accelerator type, and the memory of the smallest of them, in bytes."""

    type: str | None
    memory_bytes: int


class DeviceMemory:
    """The devices that the nodes of one cluster have. `agent` gives the service actor on a node."""

    def __init__(self, snapshot: Callable[[], Snapshot], agent: Callable[[str], Agent]) -> None:
        self._snapshot = snapshot
        self._agent = agent
        self._known: tuple[tuple[str, ...], list[Kind]] = ((), [])  # (node ids, their device kinds)

    def in_fractions(self, options: Options) -> Options | None:
        """The same options in Ray's terms; None when no device of the cluster is large enough.

        Raises ValueError when no node tells how much memory its GPUs have.
        """
        if not options.gpu_memory:
            return options
        kinds = self.kinds_of_gpus()
        if not kinds:
            raise ValueError(
                f"gpu_memory={bytes_text(options.gpu_memory)} cannot be turned into a fraction: no node of this "
                "cluster knows how much memory its GPUs have (they are logical, or their driver does not answer). Ask "
                "for a fraction yourself: num_gpus=0.25."
            )
        able = [
            kind
            for kind in kinds
            if kind.memory_bytes >= options.gpu_memory and options.accelerator_type in (None, kind.type)
        ]
        if not able:
            return None
        best = min(able, key=lambda kind: kind.memory_bytes)
        fraction = math.ceil(options.gpu_memory / best.memory_bytes * UNIT) / UNIT
        asked_type = options.accelerator_type or (best.type if len(kinds) > 1 else None)
        return msgspec.structs.replace(options, gpu_memory=None, num_gpus=fraction, accelerator_type=asked_type)

    def why_no_device_is_large_enough(self, options: ResourceOptions) -> str:
        """The reason, as a part of a sentence."""
        asked = bytes_text(options.gpu_memory or 0)
        largest = bytes_text(max(kind.memory_bytes for kind in self.kinds_of_gpus()))
        return f"no GPU here has {asked} of memory (the largest has {largest})"

    def kinds_of_gpus(self) -> list[Kind]:
        """What the nodes tell of their GPUs; [] when none tells."""
        nodes = [node for node in self._snapshot().nodes if node.alive and node.totals.get(_GPU)]
        key = tuple(sorted(node.node_id for node in nodes))
        if self._known[0] == key:
            return self._known[1]
        kinds, all_told = self._asked_kinds(nodes)
        if all_told or kinds:  # where nobody has told yet, somebody will when asked again
            self._known = (key, kinds)
        return kinds

    def _asked_kinds(self, nodes: list[NodeRow]) -> tuple[list[Kind], bool]:
        """Also whether all nodes have answered in time."""
        answers = [(node, self._agent(node.node_id).devices.remote()) for node in nodes]
        refs = [ref for _, ref in answers]
        ready, _ = ray.wait(refs, num_returns=len(refs), timeout=FIRST_ANSWER_S) if refs else ([], [])
        smallest: dict[str | None, int] = {}
        for node, ref in answers:
            for sample in ray.get(ref) if ref in ready else ():
                total = sample["metrics"]["memory_total_bytes"]
                if total:
                    kind = type_of(node)
                    smallest[kind] = min(total, smallest.get(kind, total))
        return [Kind(kind, total) for kind, total in smallest.items()], len(ready) == len(refs)
