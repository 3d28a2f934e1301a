"""The label of a device in every view: "GPU 0", or "GPU 0 · MIG 3 (1g.5gb)" for a MIG instance, never its UUID.

A snapshot names an instance's card by its UUID. The cards that are not whole devices themselves are numbered by their
place, past the numbers that whole ones have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nbaccel.views import wording
from nbaccel.views.snapshot import DeviceRow

LONG_ID = 20  # characters: a UUID that is no MIG instance's is cut

Labels = Mapping[tuple[str, str, str], str]  # of (node id, resource, device id)


def labels(rows: Iterable[DeviceRow]) -> Labels:
    """The label of every device of a snapshot."""
    rows = list(rows)
    whole = {(row.node_id, row.resource, row.id) for row in rows if row.parent is None}
    cards: dict[tuple[str, str, str], int] = {}
    numbers: dict[tuple[str, str, str], int] = {}  # of instances on a card
    named: dict[tuple[str, str, str], str] = {}
    for row in rows:
        label = f"{wording.plain(row.resource)} {short(row.id)}"
        if row.parent is not None:
            card = (row.node_id, row.resource, row.parent)
            number = numbers[card] = numbers.get(card, -1) + 1
            profile = f" ({wording.plain(row.profile)})" if row.profile else ""
            label = f"{wording.plain(row.resource)} {_card(card, cards, whole)} · MIG {number}{profile}"
        named[row.node_id, row.resource, row.id] = label
    return named


def _card(card: tuple[str, str, str], cards: dict[tuple[str, str, str], int], whole: set[tuple[str, str, str]]) -> int:
    node_id, resource, _ = card
    if card not in cards:
        taken = {number for (node, kind, _), number in cards.items() if (node, kind) == (node_id, resource)}
        number = 0
        while number in taken or (node_id, resource, str(number)) in whole:
            number += 1
        cards[card] = number
    return cards[card]


def short(id: str) -> str:
    """An id for people: a long one is cut."""
    plain = wording.plain(id)
    return plain if len(plain) <= LONG_ID else f"{plain[:12]}…"


def of_task(device_ids: Mapping[str, Iterable[str]], node_id: str | None, named: Labels) -> str:
    """The devices of a task: "GPU 0, 1", and "GPU 0 · MIG 3 (1g.5gb)" for an instance."""
    parts = []
    for resource, ids in device_ids.items():
        numbers, instances = [], []
        for id in ids:
            label = named.get((node_id or "", resource, id), "")
            (instances.append(label) if " · MIG " in label else numbers.append(short(id)))
        parts += ([f"{wording.plain(resource)} {', '.join(numbers)}"] if numbers else []) + instances
    return "; ".join(parts)
