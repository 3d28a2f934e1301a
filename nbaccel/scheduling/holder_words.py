"""Who holds what another waits for, in words: each holder once, and the one that gives it back soonest first."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from nbaccel.quantities import UNIT
from nbaccel.scheduling.resources import amount_of, listed, quantity

MAX_NAMED = 4  # holders named in a sentence; the record has them all


class HolderFact(msgspec.Struct):
    """Who holds some of a resource that another waits for."""

    resource: str
    amount: int
    name: str
    cell: str
    since: float
    node_id: bytes
    index: int | None = None  # of the device; None for pooled resources
    task_id: bytes | None = None
    actor_id: bytes | None = None
    group_id: bytes | None = None
    for_life: bool = False  # an actor or a group: not given back by itself
    detached: bool = False  # an actor that lives without a handle
    blocked: bool = False  # its code waits for others
    ending: bool = False  # its work is over: its hold comes back when its process has gone


def busy(reason: str, holders: Iterable[HolderFact], elsewhere: list[str], now: float | None) -> str:
    """`both GPUs are busy: train on GPU 0 (cell [2], 12 s), infer on GPU 1`; the reason alone where nobody is known."""
    return f"{reason}{held_by(reason, named(holders, now), elsewhere)}"


def held_by(reason: str, held: str, elsewhere: list[str]) -> str:
    """What follows the reason: who makes it all busy, or who holds the rest; and what others than this cluster hold."""
    said = [part for part in (held, *elsewhere) if part]
    if not said:
        return ""
    between = ": " if reason.endswith(" busy") or not held else "; the rest is held by "
    return between + "; ".join(said)


def named(holders: Iterable[HolderFact], now: float | None) -> str:
    """`train × 2 on GPU 0 and GPU 1 (cell [2], 12 s), actor Model on GPU 2`: each once, the nearest to giving it back
    first. Those of one name, cell and state are said together. Ages need `now`, on the clock of `since`.
    """
    alike: dict[tuple[object, ...], list[HolderFact]] = {}
    for fact in sorted(holders, key=_nearness):
        kind = "group" if fact.group_id else "actor" if fact.actor_id else "task"
        alike.setdefault((kind, fact.name, fact.cell, fact.blocked, fact.ending), []).append(fact)
    said = [_held(facts, now) for facts in alike.values()]
    more = [f"{len(said) - MAX_NAMED} more"] if len(said) > MAX_NAMED else []
    return ", ".join([*said[:MAX_NAMED], *more])


def _nearness(fact: HolderFact) -> tuple[bool, bool, bool, float, str]:
    """What is over ends first, then tasks, the longest at work first, then those that wait, then those that stay."""
    return not fact.ending, fact.for_life, fact.blocked, fact.since, fact.name


def _held(alike: list[HolderFact], now: float | None) -> str:
    first = alike[0]
    number = len({(fact.task_id, fact.actor_id, fact.group_id) for fact in alike})
    name = (f"actor {first.name}" if first.actor_id else first.name) + (f" × {number}" if number > 1 else "")
    since = min(fact.since for fact in alike)
    facts = [f"cell {first.cell}"] if first.cell else []
    facts += [_age(now - since)] if now is not None and now - since >= 1 else []
    facts += ["which waits for others itself"] if first.blocked else []
    facts += ["over: its process is ending"] if first.ending else []
    return f"{name} {_held_of(alike)}" + (f" ({', '.join(facts)})" if facts else "")


def _held_of(alike: list[HolderFact]) -> str:
    """`on GPU 0 and 0.5 of GPU 1`, `with 2 CPUs`; of more devices than are named, how much it is: `on 64 GPUs`."""
    amounts: dict[tuple[bytes, str, int | None], int] = {}
    for fact in alike:
        place = (fact.node_id if fact.index is not None else b"", fact.resource, fact.index)
        amounts[place] = amounts.get(place, 0) + fact.amount
    on = "with" if alike[0].index is None else "on"
    if len(amounts) > MAX_NAMED:
        return f"{on} {amount_of(alike[0].resource, sum(amounts.values()))}"
    said = []
    for (_, resource, index), amount in amounts.items():
        where = f"{resource} {index}" if index is not None else amount_of(resource, amount)
        said.append(where if index is None or amount == UNIT else f"{quantity(amount)} of {where}")
    return f"{on} {listed(said)}"


def _age(seconds: float) -> str:
    """`12 s`, `3 min`, `2 h`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds // 60:.0f} min" if seconds < 3600 else f"{seconds // 3600:.0f} h"
