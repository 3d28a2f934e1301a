"""Says which other types of devices have room now for work that waits for one type."""

from __future__ import annotations

import msgspec

from nbaccel.quantities import TYPE_PREFIX
from nbaccel.scheduling.labels import TYPE_LABEL
from nbaccel.scheduling.placement import PlacementBook
from nbaccel.scheduling.reasons import judge
from nbaccel.scheduling.resources import listed
from nbaccel.scheduling.terms import Choice

_MOST = 3  # types that are named


def room_on_other_types(cluster: PlacementBook, choice: Choice) -> str:
    """A sentence with a space before it, "" where the work names no type or no other type has room for it now."""
    demand = tuple(pair for pair in choice.demand if not pair[0].startswith(TYPE_PREFIX))
    labels = tuple(pair for pair in choice.placement.labels if pair[0] != TYPE_LABEL)
    if (demand, labels) == (choice.demand, choice.placement.labels):
        return ""
    free = [kind for kind in _types_of(cluster) if judge(cluster, _on(choice, demand, labels, kind)).fits_now]
    if not free:
        return ""
    return (
        f" {listed(free[:_MOST])} {'has' if len(free) == 1 else 'have'} room for it now: accelerator_type={free[0]!r}."
    )


def _types_of(cluster: PlacementBook) -> list[str]:
    devices = (each for place in cluster.nodes.values() for kind in place.devices.values() for each in kind)
    return sorted({each.spec.type for each in devices if each.spec.type})


def _on(choice: Choice, demand: tuple[tuple[str, int], ...], labels: tuple[tuple[str, str], ...], kind: str) -> Choice:
    placement = msgspec.structs.replace(choice.placement, labels=(*labels, (TYPE_LABEL, kind)))
    return msgspec.structs.replace(choice, demand=demand, placement=placement)
