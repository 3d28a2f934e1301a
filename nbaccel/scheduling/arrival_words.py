"""Says what nodes that can be added mean for a demand: one is coming, one can be asked for, or why none will come."""

from __future__ import annotations

import msgspec

from nbaccel.scheduling.growing import can_meet
from nbaccel.scheduling.growth import Growth, TypeRecord
from nbaccel.scheduling.ledger import SplitDemand
from nbaccel.scheduling.resources import amount_of, demand_text, listed
from nbaccel.scheduling.terms import Choice


class Hope(msgspec.Struct, frozen=True):
    """What may still come for a demand.

    `word`: "coming" (a node is on its way), "addable" (one can be asked for), "full" (as many as there may be are
    here), "failed" (given up), "none" (no type has it), or "" where no node can be added at all.
    """

    word: str = ""
    text: str = ""  # a sentence part

    @property
    def is_open(self) -> bool:
        return self.word in ("coming", "addable")


NO_HOPE = Hope()


def hope(growth: Growth, device_resources: frozenset[str], choice: Choice, now: float | None) -> Hope:
    """What the node types mean for this demand, by the type that says most."""
    placement = choice.placement
    if not growth.types or placement.strategy == "GROUP" or (placement.strategy == "NODE" and not placement.soft):
        return NO_HOPE
    asked = SplitDemand.of(choice, device_resources)
    fitting = [record for record in growth.types.values() if can_meet(record.empty, asked, placement.labels)]
    if not fitting:
        return Hope("none", f"no type of node that can be added has it ({_types(growth)})")
    said = [_of_type(growth, record, now) for record in fitting]
    return min(said, key=lambda each: _ORDER.index(each.word))


_ORDER = ("coming", "addable", "full", "failed")


def _of_type(growth: Growth, record: TypeRecord, now: float | None) -> Hope:
    name = record.spec.name
    launches = [launch for launch in growth.launches.values() if launch.node_type == name]
    if launches:
        ago = f" {_seconds(now - min(launch.since for launch in launches))} ago" if now is not None else ""
        nodes = f"a node of the type {name} was" if len(launches) == 1 else f"{len(launches)} {name} nodes were"
        usual = f" (usually {_seconds(record.usual_s)})" if record.usual_s is not None and record.usual_s >= 1 else ""
        return Hope("coming", f"{nodes} asked for{ago}{usual}")
    if record.given_up:
        why = f"the last {record.failures} {name} nodes that were asked for did not come ({record.why})"
        return Hope("failed", f"{why}, so no more are asked for until request_resources() is called")
    if len(record.here) >= record.spec.max:
        return Hope("full", f"{len(record.here)} of at most {record.spec.max} {name} nodes are here")
    if record.failures and now is not None:
        again = f", the next try is in {_seconds(record.try_at - now)}" if record.try_at > now else ""
        return Hope("addable", f"the last {name} node that was asked for did not come ({record.why}){again}")
    return Hope("addable", f"a node of the type {name} can be added")


def _seconds(seconds: float) -> str:
    return f"{max(seconds, 0):.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _types(growth: Growth) -> str:
    return "; ".join(f"{record.spec.name}: {_what(record)}" for record in growth.types.values())


def _what(record: TypeRecord) -> str:
    devices = {name: sum(each.amount for each in each_of) for name, each_of in record.empty.devices.items()}
    cpus = {name: amount for name, amount in record.spec.totals.items() if name == "CPU"}
    return listed([amount_of(*each) for each in devices.items() if each[1]]) or demand_text(cpus.items())
