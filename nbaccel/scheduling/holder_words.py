"""Who holds what another waits for, in words: each holder once, and the one that gives it back soonest first."""

from __future__ import annotations

from collections import Counter
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
    """`on GPU 0 and 0.5 of GPU 1, with 2 CPUs`; where devices are too many to name, or two nodes have one of the same
    number, how many they are: `on 64 GPUs, with 8 CPUs`.
    """
    devices: dict[str, Counter[tuple[bytes, int]]] = {}
    pools: Counter[str] = Counter()
    for fact in alike:
        if fact.index is None:
            pools[fact.resource] += fact.amount
        else:
            devices.setdefault(fact.resource, Counter())[fact.node_id, fact.index] += fact.amount
    many = len(pools) + sum(map(len, devices.values())) > MAX_NAMED
    held = listed([said for name, each in devices.items() for said in _devices(name, each, named=not many)])
    rest = listed([amount_of(name, amount) for name, amount in pools.items()])
    return ", ".join(f"{word} {said}" for word, said in (("on", held), ("with", rest)) if said)


def _devices(resource: str, held: Counter[tuple[bytes, int]], *, named: bool) -> list[str]:
    """`GPU 0`, `0.5 of GPU 1`; or all of them as one: `64 GPUs`, `0.5 of each of 6 GPUs`."""
    indexes = {index for _, index in held}
    if named and len(indexes) == len(held):
        said = [(f"{resource} {index}", amount) for (_, index), amount in held.items()]
        return [where if amount == UNIT else f"{quantity(amount)} of {where}" for where, amount in said]
    all_of_them = amount_of(resource, len(held) * UNIT)
    if held.total() == len(held) * UNIT:
        return [all_of_them]
    each = set(held.values())
    return [
        f"{quantity(each.pop())} of each of {all_of_them}"
        if len(each) == 1
        else f"{quantity(held.total())} of {all_of_them}"
    ]


def _age(seconds: float) -> str:
    """`12 s`, `3 min`, `2 h`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds // 60:.0f} min" if seconds < 3600 else f"{seconds // 3600:.0f} h"
