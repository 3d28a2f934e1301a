"""Why a placement group waits on Ray, and whether it could ever be placed: asked of the scheduler's own books."""

from __future__ import annotations

from nbaccel.quantities import UNIT
from nbaccel.ray_engine.reports import planning
from nbaccel.ray_engine.reports.planning import Autoscaler
from nbaccel.scheduling.events import GroupRequested
from nbaccel.scheduling.explain import Explainer
from nbaccel.scheduling.groups import GroupRecord, GroupTable
from nbaccel.scheduling.moves import GroupState
from nbaccel.scheduling.placement import PlacementBook
from nbaccel.scheduling.reasons import judge
from nbaccel.views.explanations import Explanation
from nbaccel.views.snapshot import GroupRow, Snapshot

_SETTLED = ("CREATED", "REMOVED")
Labels = list[dict[str, str]] | None


def never(snapshot: Snapshot, row: GroupRow, labels: Labels, autoscaler: Autoscaler) -> str:
    """Why this group can never be placed; "" when it can, or when nobody can tell what an autoscaler would add."""
    cluster, group = planning.books(snapshot), _record(row, labels)
    table = GroupTable([], cluster)
    return "" if table.could_ever(group) or _addable(cluster, group, row, autoscaler) else table.why_not(group)


def explanations(snapshot: Snapshot, what: str | None, autoscaler: Autoscaler) -> list[Explanation]:
    """Of one placement group, or of all that wait."""
    rows = [row for row in snapshot.groups if what in (None, row.group_id)]
    if what is None:
        rows = [row for row in rows if row.state not in _SETTLED]
    return [_explained(snapshot, row, autoscaler) for row in rows]


def _explained(snapshot: Snapshot, row: GroupRow, autoscaler: Autoscaler) -> Explanation:
    """Why this group is where it is, with those who hold what it asks for."""
    if row.state in _SETTLED:
        about = _record(row)
        is_placed = row.state == "CREATED"
        sentence = f"{about} is placed." if is_placed else f"{about} was removed."
        return Explanation(row.group_id, str(about), row.state, sentence, fits_now=is_placed)
    cluster, group = planning.books(snapshot), _record(row)
    ever = GroupTable([], cluster).could_ever(group)
    more = "" if ever else _addable(cluster, group, row, autoscaler)
    found = Explainer(cluster, {}).group(group, ever or bool(more))
    holders = planning.holders_of(snapshot, found.resources) if ever else []
    sentence = planning.with_holders(found.sentence.removesuffix("."), holders, since=True)
    also = f"; {more}" if more else ""
    return Explanation(
        id=row.group_id, name=str(group), state=row.state,
        sentence=f"{sentence}{also}.", asks=found.asks,
        fits_now=False, ever=None if more else ever, resources=found.resources,
        fragmented=found.fragmented, reason=found.reason, holders=holders,
    )  # fmt: skip


def _addable(cluster: PlacementBook, group: GroupRecord, row: GroupRow, autoscaler: Autoscaler) -> str:
    """What is known of the autoscaler where the nodes do not do; "" when it cannot help."""
    known = autoscaler()
    if not known["scales"]:
        return ""
    for index, bundle in enumerate(row.bundles):
        if not judge(cluster, group.choice(index)).ever:
            word, more = planning.addable(known, bundle)
            return more if word else ""
    return "the cluster has an autoscaler, which may add nodes for it"


def _record(row: GroupRow, labels: Labels = None) -> GroupRecord:
    bundles = [tuple(sorted((name, round(amount * UNIT)) for name, amount in one.items())) for one in row.bundles]
    pairs = [tuple(sorted(one.items())) for one in labels] if labels else None
    spec = GroupRequested(bytes.fromhex(row.group_id), row.name, bundles, row.strategy, 1, bundle_labels=pairs)
    return GroupRecord(spec, 0.0, GroupState.PENDING)
