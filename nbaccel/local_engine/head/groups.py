"""Placement groups: their bundles, who waits for them, and the table for Ray's users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct, field

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Peer, QuestionError
from nbaccel.local_engine.head.decisions import Notify
from nbaccel.local_engine.head.objects import ledger
from nbaccel.local_engine.head.objects.tables import ObjectTables
from nbaccel.local_engine.head.records import Job
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire import failures
from nbaccel.quantities import ACCELERATORS, UNIT
from nbaccel.scheduling.commands import GroupChanged
from nbaccel.scheduling.events import GroupAsked, GroupRemoveAsked
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import Placement
from nbaccel.views.observer_lines import Row
from nbaccel.views.snapshot import ListedGroup

KEEP_REMOVED = 1_000  # rows of removed groups that the table still shows
SCHEDULING_STATES = {"PENDING": "QUEUED", "CREATED": "FINISHED", "REMOVED": "REMOVED", "RESCHEDULING": "QUEUED"}

Owner = TypeVar("Owner")  # names the process that asked for a ref of ready()


class GroupNameTaken(Exception):
    """Two placement groups of a namespace cannot have one name."""


class Group(Struct, Generic[Owner]):
    """One placement group."""

    spec: GroupAsked
    namespace: str
    state: str = "PENDING"
    never: str = ""  # why it can never be placed, if that is an error
    nodes: list[bytes] = field(default_factory=list)  # of the bundles, when they were last placed
    waiting: list[tuple[bytes, Owner, wire.Value]] = field(default_factory=list)  # to be given when it is placed


class Groups(Generic[Owner]):
    """All placement groups of one scheduler."""

    def __init__(self, scheduler: Scheduler, notify: Notify, give: Callable[[bytes, Owner, wire.Value], None]) -> None:
        self._scheduler = scheduler
        self._notify = notify
        self._give = give  # gives a ref of ready() its value
        self._by_id: dict[bytes, Group[Owner]] = {}
        self._removed = 0

    # ---- questions

    def create(self, asked: asks.CreateGroup, job: int, *, refuses: bool) -> None:
        """Create a group. With `refuses`, a group that can never be placed is an error. Raises GroupNameTaken."""
        name, labels = asked.name, asked.bundle_labels
        if name and self._named(name, asked.namespace) is not None:
            raise GroupNameTaken(f"Failed to create placement group: the name {name!r} already exists.")
        pairs = _pairs(asked.bundles)
        label_pairs = [tuple(sorted(one.items())) for one in labels] if labels else None
        soft = bytes.fromhex(asked.soft_node)
        spec = GroupAsked(asked.group_id, name, pairs, asked.strategy, job, asked.detached, label_pairs, refuses, soft)
        self._by_id[asked.group_id] = Group(spec, asked.namespace)
        self._notify(spec)

    def ready(self, group_id: bytes, object_id: bytes, owner: Owner, value: wire.Value) -> None:
        """Give an object this value once the group is placed."""
        group = self._by_id.get(group_id)
        if group is None or group.state == "REMOVED":
            self._give(object_id, owner, gone())
        elif group.state == "CREATED":
            self._give(object_id, owner, value)
        elif group.never:
            self._give(object_id, owner, never_placed(group.never))
        else:
            group.waiting.append((object_id, owner, value))

    def awaited_by(self, task_id: bytes) -> bytes | None:
        """The group that a ref of `ready()` waits for; refs are known by the first bytes of their ids."""
        for group_id, group in self._by_id.items():
            if any(object_id.startswith(task_id) for object_id, _owner, _value in group.waiting):
                return group_id
        return None

    def families_of(self, place: Placement) -> list[str]:
        """The accelerator families that each bundle has in which work with this placement may run."""
        group = self._by_id.get(place.group_id or b"")
        if group is None:
            return []
        bundles = group.spec.bundles if place.bundle < 0 else [group.spec.bundles[place.bundle]]
        return [family for family in ACCELERATORS if all(family in dict(bundle) for bundle in bundles)]

    def why_never_placed(self, asked: asks.AskWhyNeverPlaced) -> str:
        """Why no group of these bundles could ever be placed; "" if it could."""
        return self._scheduler.why_never_placed(GroupAsked(b"", "", _pairs(asked.bundles), asked.strategy, 0))

    def remove(self, group_id: bytes) -> None:
        group = self._by_id.get(group_id)
        if group is not None and group.state != "REMOVED":
            self._notify(GroupRemoveAsked(group_id))

    def table(self, group_id: bytes | None) -> list[ListedGroup]:
        """The row of one group, if it is known, or all rows."""
        if group_id is None:
            return self.rows()
        group = self._by_id.get(group_id)
        return [self._row(group_id, group)] if group is not None else []

    def find(self, name: str, namespace: str) -> ListedGroup | None:
        """The row of the group with this name in this namespace."""
        group_id = self._named(name, namespace)
        return self._row(group_id, self._by_id[group_id]) if group_id is not None else None

    def _named(self, name: str, namespace: str) -> bytes | None:
        for group_id, group in self._by_id.items():
            if (group.spec.name, group.namespace) == (name, namespace) and group.state != "REMOVED":
                return group_id
        return None

    def rows(self) -> list[ListedGroup]:
        return [self._row(group_id, group) for group_id, group in self._by_id.items()]

    def _row(self, group_id: bytes, group: Group[Owner]) -> ListedGroup:
        record = self._scheduler.group_record(group_id)
        hopeless = record is not None and record.never is True
        return _row(group_id, group, "INFEASIBLE" if hopeless else SCHEDULING_STATES[group.state])

    # ---- orders of the scheduler

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
                object_id, owner, value = group.waiting[0]
                self._give(object_id, owner, answer_to_ready(command, value))
                del group.waiting[0]
        if command.state == "REMOVED":
            self._forget_old()

    def owner_died(self, owner: Owner) -> None:
        """A process that called `ready()` was killed: its refs of `ready()` get an error."""
        for group in self._by_id.values():
            owned = [one for one in group.waiting if one[1] == owner]
            group.waiting = [one for one in group.waiting if one[1] != owner]
            for object_id, _owner, _value in owned:
                self._give(object_id, owner, owner_of_ready_died(object_id))

    def _forget_old(self) -> None:
        """Forget old removed groups, so that a program that makes groups without end does not fill the head."""
        self._removed += 1
        if self._removed > KEEP_REMOVED:
            oldest = next(id for id, group in self._by_id.items() if group.state == "REMOVED")
            del self._by_id[oldest]
            self._removed -= 1


def answer_to_ready(command: GroupChanged, value: wire.Value) -> wire.Value:
    """The value of a ref of `ready()` when its group is placed, is removed, or can never be placed."""
    if command.never:
        return never_placed(command.never)
    return value if command.state == "CREATED" else gone()


def never_placed(reason: str) -> wire.Value:
    return failures.failed("TaskUnschedulableError", f"{reason}.")


def owner_of_ready_died(object_id: bytes) -> wire.Value:
    """The value of a ref of `ready()` when the process that called it has died."""
    why = "the process that called ready() has ended before the placement group was placed"
    return failures.failed("OwnerDiedError", f"Object {object_id.hex()} has no owner any more: {why}.")


def gone() -> wire.Value:
    return failures.failed("TaskPlacementGroupRemoved", "The placement group has been removed.")


def _row(group_id: bytes, group: Group[Any], scheduling_state: str) -> ListedGroup:
    spec = group.spec
    nodes = [group.nodes[place].hex() if place < len(group.nodes) else "" for place in range(len(spec.bundles))]
    return ListedGroup(
        placement_group_id=group_id.hex(),
        name=spec.name,
        bundles={i: {name: amount / UNIT for name, amount in bundle} for i, bundle in enumerate(spec.bundles)},
        bundles_to_node_id=dict(enumerate(nodes)),
        strategy=spec.strategy,
        state=group.state,
        stats={"scheduling_state": scheduling_state},
        is_detached=spec.detached,
        creator_job_id=spec.job.to_bytes(4, "big").hex(),
    )


def _pairs(bundles: list[dict[str, float]]) -> list[tuple[tuple[str, int], ...]]:
    """The scheduler's form of them."""
    return [
        tuple(sorted((key, round(amount * UNIT)) for key, amount in bundle.items() if amount)) for bundle in bundles
    ]


class GroupAnswers:
    """Answers for the processes of one head."""

    def __init__(
        self, groups: Groups[int], objects: ObjectTables, jobs: Mapping[int, Job], owner_of: Callable[[Peer], int]
    ) -> None:
        self._groups = groups
        self._objects = objects
        self._jobs = jobs
        self._owner_of = owner_of  # whose end withdraws a peer's wait for a group

    def answers(self) -> list[Row[Peer]]:
        """The questions about groups and their answers."""
        groups = self._groups
        return [
            asks.CreateGroup.answered_by(self._create),
            asks.WhenGroupReady.answered_by(self._when_ready),
            asks.RemoveGroup.answered_by(lambda peer, asked: groups.remove(asked.group_id)),
            asks.AskWhyNeverPlaced.answered_by(lambda peer, asked: groups.why_never_placed(asked)),
            asks.ReadGroups.answered_by(lambda peer, asked: groups.table(asked.group_id)),
            asks.FindGroup.answered_by(lambda peer, asked: groups.find(asked.name, asked.namespace)),
        ]

    def _create(self, peer: Peer, asked: asks.CreateGroup) -> None:
        job = self._jobs.get(peer.job)
        try:
            self._groups.create(asked, peer.job, refuses=job is not None and job.hello.infeasible == "raise")
        except GroupNameTaken as error:
            raise QuestionError("RaySystemError", str(error)) from None

    def _when_ready(self, peer: Peer, asked: asks.WhenGroupReady) -> None:
        ledger.promise(self._objects, asked.object_id, peer.client_id)
        self._groups.ready(asked.group_id, asked.object_id, self._owner_of(peer), wire.Value(wire.OK, asked.value))
