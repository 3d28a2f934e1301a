"""The head's placement groups: what was asked, who waits for it, and the table that Ray's users read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.refusal import Refusal
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire import failures
from nbaccel.quantities import UNIT
from nbaccel.scheduling.events import GroupAsked, GroupRemoveAsked

if TYPE_CHECKING:
    from nbaccel.local_engine.head.decisions import Tell
    from nbaccel.local_engine.head.objects.delivery import Fill
    from nbaccel.local_engine.head.objects.ledger import Objects
    from nbaccel.local_engine.head.peers import Peer
    from nbaccel.local_engine.head.records import Job
    from nbaccel.scheduling.commands import GroupChanged
    from nbaccel.scheduling.scheduler import Scheduler
    from nbaccel.views.question import Row

KEEP_REMOVED = 1_000  # rows of removed groups that the table still shows
SCHEDULING_STATES = {"PENDING": "QUEUED", "CREATED": "FINISHED", "REMOVED": "REMOVED", "RESCHEDULING": "QUEUED"}


@dataclass(slots=True)
class Group:
    """One placement group."""

    spec: GroupAsked
    namespace: str
    state: str = "PENDING"
    never: str = ""  # why it can never be placed, where that is an error
    nodes: list[bytes] = field(default_factory=list)  # of the bundles, when they were last placed
    waiting: list[tuple[bytes, int, bytes]] = field(default_factory=list)  # (object, client, value) to give when placed


class Groups:
    """All placement groups of a head."""

    def __init__(
        self,
        scheduler: Scheduler,
        objects: Objects,
        jobs: Mapping[int, Job],
        tell: Tell,
        *,
        fill: Fill,
        changed: Callable[[], None],
    ) -> None:
        self._scheduler = scheduler
        self._objects = objects
        self._jobs = jobs
        self._tell = tell
        self._fill = fill
        self._changed = changed  # something is different from the last picture
        self._by_id: dict[bytes, Group] = {}
        self._removed = 0

    # ---- questions

    def answers(self) -> list[Row[Peer]]:
        """What may be asked of groups."""
        return [
            asks.CreateGroup.answered_by(self.create),
            asks.WhenGroupReady.answered_by(self.ready),
            asks.RemoveGroup.answered_by(self.remove),
            asks.ReadGroup.answered_by(self.table),
            asks.FindGroup.answered_by(self.find),
        ]

    def create(self, peer: Peer, asked: asks.CreateGroup) -> None:
        """Raises Refusal where the namespace has a group of this name."""
        name, labels = asked.name, asked.bundle_labels
        if name and self._named(name, asked.namespace) is not None:
            raise Refusal("RaySystemError", f"Failed to create placement group: the name {name!r} already exists.")
        pairs = [
            tuple(sorted((key, round(amount * UNIT)) for key, amount in bundle.items() if amount))
            for bundle in asked.bundles
        ]
        label_pairs = [tuple(sorted(one.items())) for one in labels] if labels else None
        job = self._jobs.get(peer.job)
        refuses = job is not None and job.hello.infeasible == "raise"
        soft = bytes.fromhex(asked.soft_node)
        spec = GroupAsked(
            asked.group_id, name, pairs, asked.strategy, peer.job, asked.detached, label_pairs, refuses, soft
        )
        self._by_id[asked.group_id] = Group(spec, asked.namespace)
        self._tell(spec)

    def ready(self, peer: Peer, asked: asks.WhenGroupReady) -> None:
        """Give an object this value once the group is placed."""
        object_id, value = asked.object_id, asked.value
        self._objects.promise(object_id, peer.client_id)
        group = self._by_id.get(asked.group_id)
        if group is None or group.state == "REMOVED":
            self._give(object_id, peer.client_id, gone())
        elif group.state == "CREATED":
            self._give(object_id, peer.client_id, wire.Value(wire.OK, value))
        elif group.never:
            self._give(object_id, peer.client_id, never_placed(group.never))
        else:
            group.waiting.append((object_id, peer.client_id, value))

    def remove(self, peer: Peer, asked: asks.RemoveGroup) -> None:
        group = self._by_id.get(asked.group_id)
        if group is not None and group.state != "REMOVED":
            self._tell(GroupRemoveAsked(asked.group_id))

    def table(self, peer: Peer, asked: asks.ReadGroup) -> dict[str, Any]:
        """One group's row, or all of them by id."""
        if asked.group_id is None:
            return {row["placement_group_id"]: row for row in self.rows()}
        group = self._by_id.get(asked.group_id)
        return self._row(asked.group_id, group) if group is not None else {}

    def find(self, peer: Peer, asked: asks.FindGroup) -> dict[str, Any] | None:
        """The row of the group that has this name in this namespace."""
        group_id = self._named(asked.name, asked.namespace)
        return self._row(group_id, self._by_id[group_id]) if group_id is not None else None

    def _named(self, name: str, namespace: str) -> bytes | None:
        for group_id, group in self._by_id.items():
            if (group.spec.name, group.namespace) == (name, namespace) and group.state != "REMOVED":
                return group_id
        return None

    def rows(self) -> list[dict[str, Any]]:
        return [self._row(group_id, group) for group_id, group in self._by_id.items()]

    def _row(self, group_id: bytes, group: Group) -> dict[str, Any]:
        record = self._scheduler.group_record(group_id)
        hopeless = record is not None and record.never is True
        return _row(group_id, group, "INFEASIBLE" if hopeless else SCHEDULING_STATES[group.state])

    # ---- what the scheduler says

    def changed(self, command: GroupChanged) -> None:
        group = self._by_id.get(command.group_id)
        if group is None:
            return
        group.state = command.state
        if command.bundle_nodes:
            group.nodes = command.bundle_nodes
        group.never = command.never
        if command.state in ("CREATED", "REMOVED") or command.never:
            while group.waiting:
                object_id, client_id, value = group.waiting[0]
                self._give(object_id, client_id, answer_to_ready(command, wire.Value(wire.OK, value)))
                del group.waiting[0]
        if command.state == "REMOVED":
            self._forget_old()
        self._changed()

    def owner_died(self, client_id: int) -> None:
        """A process was killed that had asked for `ready()`: nobody will give these refs a value any more."""
        for group in self._by_id.values():
            owned = [one for one in group.waiting if one[1] == client_id]
            group.waiting = [one for one in group.waiting if one[1] != client_id]
            for object_id, _client_id, _value in owned:
                self._give(object_id, client_id, owner_of_ready_died(object_id))

    def _give(self, object_id: bytes, client_id: int, value: wire.Value) -> None:
        self._fill(object_id, value, [], client_id)

    def _forget_old(self) -> None:
        """A program that makes and removes groups without end must not fill the head."""
        self._removed += 1
        if self._removed > KEEP_REMOVED:
            oldest = next(id for id, group in self._by_id.items() if group.state == "REMOVED")
            del self._by_id[oldest]
            self._removed -= 1


def answer_to_ready(command: GroupChanged, value: wire.Value) -> wire.Value:
    """What a ref of `ready()` gets when its group is placed or removed, or can never be placed."""
    if command.never:
        return never_placed(command.never)
    return value if command.state == "CREATED" else gone()


def never_placed(reason: str) -> wire.Value:
    return failures.failed("TaskUnschedulableError", f"{reason}.")


def owner_of_ready_died(object_id: bytes) -> wire.Value:
    """What a ref of `ready()` gets when the process that asked for it has died."""
    why = "the process that called ready() has ended before the placement group was placed"
    return failures.failed("OwnerDiedError", f"Object {object_id.hex()} has no owner any more: {why}.")


def gone() -> wire.Value:
    return failures.failed("TaskPlacementGroupRemoved", "The placement group has been removed.")


def _row(group_id: bytes, group: Group, scheduling_state: str) -> dict[str, Any]:
    spec = group.spec
    nodes = [group.nodes[place].hex() if place < len(group.nodes) else "" for place in range(len(spec.bundles))]
    return {
        "placement_group_id": group_id.hex(),
        "name": spec.name,
        "bundles": {i: {name: amount / UNIT for name, amount in bundle} for i, bundle in enumerate(spec.bundles)},
        "bundles_to_node_id": dict(enumerate(nodes)),
        "strategy": spec.strategy,
        "state": group.state,
        "stats": {"scheduling_state": scheduling_state},
        "is_detached": spec.detached,
        "creator_job_id": spec.job.to_bytes(4, "big").hex(),
    }
