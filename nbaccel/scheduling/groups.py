"""Placement groups: all bundles of one are reserved together, or none."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from nbaccel.scheduling.commands import Command, GroupChanged, Warn
from nbaccel.scheduling.events import GroupRequested
from nbaccel.scheduling.ledger import Hold, LedgerDevice, Place, SplitDemand
from nbaccel.scheduling.moves import GROUP_MOVES, GroupState, IllegalEvent, Story, lengthened
from nbaccel.scheduling.placement import PlacementBook
from nbaccel.scheduling.reasons import judge
from nbaccel.scheduling.terms import Choice, Placement

PENDING, CREATED, RESCHEDULING, REMOVED = GroupState
MAX_TRIALS = 5_000  # steps of the search for a packing, before it is called impossible for now


class GroupRecord(msgspec.Struct, eq=False):
    """The scheduler's record of one placement group."""

    spec: GroupRequested
    since: float
    state: GroupState = PENDING
    places: dict[int, Place] = {}
    never: bool | None = None  # whether no place could ever be found; None: not asked, since it may fit at once
    notified: bool = False  # that it can never be placed
    refused: str = ""  # why not, if that is an error
    story: Story = ()

    def __str__(self) -> str:
        return f"placement group {self.spec.name or self.spec.group_id.hex()}"

    def choice(self, index: int) -> Choice:
        labels = self.spec.bundle_labels
        return Choice(self.spec.bundles[index], Placement(labels=labels[index] if labels else ()))


class GroupTable:
    """Owns group records; every move of a group goes through `_move`."""

    def __init__(self, out: list[Command], cluster: PlacementBook) -> None:
        self._out = out
        self._cluster = cluster
        self.records: dict[bytes, GroupRecord] = {}
        self._pending: dict[bytes, GroupRecord] = {}

    def _move(self, group: GroupRecord, state: GroupState, now: float) -> None:
        if state not in GROUP_MOVES[group.state]:
            raise IllegalEvent(f"A move to {state.name}", str(group), group.state.name, group.story)
        group.state, group.since = state, now
        group.story = lengthened(group.story, state, now)
        self._notify(group)

    def _notify(self, group: GroupRecord) -> None:
        nodes = [group.places[i].node_id if i in group.places else b"" for i in range(len(group.spec.bundles))]
        nodes = nodes if group.places else []
        self._out.append(GroupChanged(group.spec.group_id, group.state.name, nodes, group.refused))

    def ask(self, spec: GroupRequested, now: float) -> None:
        old = self.records.get(spec.group_id)
        if old is not None:
            raise IllegalEvent("GroupRequested", str(old), old.state.name, old.story, "Its id is in use.")
        group = self.records[spec.group_id] = self._pending[spec.group_id] = GroupRecord(spec, now)
        self._notify(group)
        self._cluster.groups_wait = True
        self._cluster.freed_any = True

    def _notify_never(self, group: GroupRecord) -> None:
        message = f"{group} cannot be placed here: {self.why_not(group)}"
        if group.spec.refuse_infeasible:
            group.refused = message
            self._notify(group)
            self._cluster.reopen(self._cluster.asks_of_group(group.spec.group_id))
        else:
            message = f"{message}. It waits in case a node joins."
            self._out.append(Warn(group.spec.job, "infeasible", None, message))

    def remove(self, group: GroupRecord, now: float) -> None:
        """Remove a group: its bundles are released once nobody holds any of them. The caller ends the work inside."""
        self._move(group, REMOVED, now)
        self._pending.pop(group.spec.group_id, None)
        for node_id in {place.node_id for place in group.places.values()}:
            self._cluster.close_bundles(group.spec.group_id, node_id)
        group.places.clear()
        self._cluster.bundles.pop(group.spec.group_id, None)
        self._cluster.commons.pop(group.spec.group_id, None)
        self._cluster.groups_wait = bool(self._pending)
        self._cluster.freed_any = True
        del self.records[group.spec.group_id]

    def nodes_changed(self) -> None:
        """Judge again the groups that could never be placed."""
        for group in self._pending.values():
            group.never = None

    def node_lost(self, node_id: bytes, now: float) -> None:
        """Place the bundles of a lost node again."""
        self.nodes_changed()
        for group in self.records.values():
            lost = [index for index, place in group.places.items() if place.node_id == node_id]
            for index in lost:
                del group.places[index]
            self._cluster.close_bundles(group.spec.group_id, node_id)
            if lost and group.state is CREATED:
                self._move(group, RESCHEDULING, now)
                self._pending[group.spec.group_id] = group
                self._cluster.groups_wait = self._cluster.freed_any = True

    # --- placing --------------------------------------------------------------------------------------------------

    def place_pending(self, now: float) -> None:
        """Try to place the waiting groups in order of submission, each as a whole."""
        self._cluster.freed_any = False
        for group_id, group in list(self._pending.items()):
            holds = BundleSearch(group, self._cluster.staying(), now, self._cluster.device_resources).run()
            if holds is not None:
                del self._pending[group_id]
                self._create(group, holds, now)
            elif group.never is None:
                group.never = not self.could_ever(group)
                if group.never and not group.notified:
                    group.notified = True
                    self._notify_never(group)
        self._cluster.groups_wait = bool(self._pending)
        self._cluster.stirred = self._cluster.stirred or self._cluster.groups_wait

    def _create(self, group: GroupRecord, holds: dict[int, Hold], now: float) -> None:
        group.refused, group.notified, group.never = "", False, None
        for index, hold in sorted(holds.items()):
            place = group.places[index] = _bundle_place(group, index, hold)
            self._cluster.add_bundle(group.spec.group_id, place)
        self._move(group, CREATED, now)
        self._cluster.reopen(self._cluster.asks_of_group(group.spec.group_id))

    def could_ever(self, group: GroupRecord) -> bool:
        """Whether the bundles would fit together if nobody held anything."""
        unplaced = GroupRecord(group.spec, group.since)
        empty = [node.emptied() for node in self._cluster.nodes.values()]
        empty += self._cluster.nodes_that_may_come(len(group.spec.bundles))
        return BundleSearch(unplaced, empty, group.since, self._cluster.device_resources).run() is not None

    def why_not(self, group: GroupRecord) -> str:
        """The reason, of a group that can never be placed."""
        verdicts = [judge(self._cluster, group.choice(index)) for index in range(len(group.spec.bundles))]
        together = f"its {len(verdicts)} bundles do not fit together ({group.spec.strategy})"
        return next((verdict.reason for verdict in verdicts if not verdict.ever), together)

    def pending(self) -> list[GroupRecord]:
        """The groups that wait for room."""
        return list(self._pending.values())


class BundleSearch:
    """Depth-first search for nodes that hold all missing bundles at once, on the real books, undone where it fails."""

    def __init__(self, group: GroupRecord, nodes: list[Place], now: float, device_resources: frozenset[str]) -> None:
        self._group = group
        preferred = group.spec.soft_node
        self._nodes = sorted(nodes, key=lambda node: (node.node_id != preferred, node.order))
        self._now = now
        self._taken: dict[int, Hold] = {}
        self._trials = MAX_TRIALS
        self._strategy = group.spec.strategy
        missing = [index for index in range(len(group.spec.bundles)) if index not in group.places]
        # The largest first: what is left then fits in between.
        self._missing = sorted(missing, key=lambda i: (-sum(amount for _, amount in group.spec.bundles[i]), i))
        choices = {i: group.choice(i) for i in missing}
        self._asked = {i: SplitDemand.of(choice, device_resources) for i, choice in choices.items()}
        self._allowed = {
            i: {node.node_id for node in nodes if node.meets(choice.placement.labels)} for i, choice in choices.items()
        }

    def run(self) -> dict[int, Hold] | None:
        if self._strategy == "PACK":  # one node for all, if one can hold them
            self._strategy = "STRICT_PACK"
            if self._place(0):
                return self._taken
            self._strategy, self._trials = "PACK", MAX_TRIALS
        return self._taken if self._place(0) else None

    def _place(self, depth: int) -> bool:
        if depth == len(self._missing):
            return True
        index = self._missing[depth]
        for node in self._candidates(index):
            self._trials -= 1
            if self._trials < 0:
                return False
            hold = node.take(self._asked[index], self._group, self._now)
            if isinstance(hold, str):
                continue
            self._taken[index] = hold
            if self._place(depth + 1):
                return True
            undo(self._taken.pop(index))
        return False

    def _candidates(self, index: int) -> Iterator[Place]:
        used = self._used()
        strategy = self._strategy
        nodes = [node for node in self._nodes if node.node_id in self._allowed[index]]
        inside = [node for node in nodes if node.node_id in used]
        outside = [node for node in nodes if node.node_id not in used]
        if strategy == "STRICT_SPREAD":
            yield from outside
        elif strategy == "STRICT_PACK":
            yield from inside if used else outside
        elif strategy == "SPREAD":
            yield from outside
            yield from inside
        else:
            yield from inside
            yield from outside

    def _used(self) -> set[bytes]:
        nodes = {hold.place.node_id for hold in self._taken.values()}
        return nodes | {place.node_id for place in self._group.places.values()}


def undo(hold: Hold) -> None:
    """Undo a trial. Nobody was refused because of it, so nobody is woken."""
    for name, amount in hold.pooled:
        hold.place.free[name] += amount
    for device, amount in hold.parts:
        device.used -= amount
        del device.holds[hold]
    del hold.place.holds[hold]
    hold.place.version += 1


def _bundle_place(group: GroupRecord, index: int, hold: Hold) -> Place:
    """A place made of what the hold reserves: its devices are slices of the node's."""
    node = hold.place
    devices: dict[str, list[LedgerDevice]] = {}
    for device, amount in hold.parts:
        devices.setdefault(device.spec.resource, []).append(LedgerDevice(device.spec, amount, amount, base=device))
    name = f"bundle {index} of {group} on {node.name}"
    free = dict(hold.pooled)
    place = hold.inner = Place(
        node.node_id, name, index, dict(free), free, devices, node.labels,
        group_id=group.spec.group_id, bundle=index, reserve=hold,
    )  # fmt: skip
    return place
