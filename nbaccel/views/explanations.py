"""The records with which `explain` and `probe` answer: an explanation, its blockers, a verdict.

Quantities are in whole resources, times are Unix seconds. Fields are only ever added, with defaults: these records
travel from a head to its drivers and observers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any

import msgspec

from nbaccel.views.snapshot import RequestRow

EXPLAINED_AFTER_S = 1.0  # an error of `get` has the reason of the wait if its timeout was at least this

name_holders: Callable[[Sequence[str]], list[str]] = list
"""Adds to sentences about work that waits what in this process still holds the actors and groups that they name. A
notebook sets it: its outputs and its last error hold what no variable names.
"""


class Verdict(Enum):
    """What a probe found."""

    NOW = "now"  # a task that asks this would start at once
    COMING = "coming"  # a node that would meet it was asked for and is on its way
    BUSY = "busy"  # it would have to wait for others
    NEVER = "never"  # with the nodes there are it can never start
    ADDABLE = "addable"  # not with the nodes there are, but the autoscaler could add one
    BROKEN = "broken"  # it would start, but `verify` failed on the device
    UNKNOWN = "unknown"  # the engine does not know


class Blocker(msgspec.Struct, frozen=True):
    """Who holds some of what another waits for."""

    name: str
    resource: str
    amount: float
    device_id: str | None = None  # None: not of a single device
    cell: str = ""
    pid: int | None = None
    since: float | None = None
    task_id: str | None = None
    actor_id: str | None = None
    group_id: str | None = None
    for_life: bool = False  # an actor or a placement group: not given back by itself
    blocked: bool = False  # its own code waits for others
    ending: bool = False  # its work is over, its process gives the device back in a moment
    node_id: str = ""  # of the device; "" where it is of no single device


class Explanation(msgspec.Struct, frozen=True):
    """Why something is where it is; as text it is its sentence.

    fits_now    what it asks is free now
    ever        it can run with the nodes there are; None: unknown
    resources   those that there is too little of
    fragmented  enough is free in sum, but not on one device
    deadlock    all of it is held by work that waits for others, while nobody runs for whom it could wait
    kept        all of it is held by work that does not give it back by itself, but ends when a person says so: an actor
                whose last handle is dropped, a placement group that is removed
    elsewhere   what others than this cluster do to the devices: leases of other heads, memory of foreign processes
    missing     ids of arguments that are not there yet
    coming      "coming": a node that would meet it was asked for; "addable": one can be asked for
    """

    id: str
    name: str
    state: str
    sentence: str
    asks: str = ""
    fits_now: bool = False
    ever: bool | None = None
    resources: list[str] = []
    fragmented: bool = False
    deadlock: bool = False
    kept: bool = False
    reason: str = ""
    holders: list[Blocker] = []
    elsewhere: list[str] = []
    missing: list[str] = []
    coming: str = ""

    def as_probe(self) -> Probe:
        """The same facts for a request, of which nothing runs yet."""
        return Probe(
            self._verdict(),
            self.sentence,
            self.asks,
            self.reason,
            self.resources,
            self.fragmented,
            self.holders,
            self.elsewhere,
        )

    def _verdict(self) -> Verdict:
        if self.fits_now:
            return Verdict.NOW
        if self.coming == "coming":
            return Verdict.COMING
        if self.ever:
            return Verdict.BUSY
        return Verdict.ADDABLE if self.coming else Verdict.NEVER

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return self.sentence


class Probe(msgspec.Struct, frozen=True):
    """Whether a request could start; true or false by itself, and as text its sentence.

    value   what `verify` returned
    error   what it raised
    """

    verdict: Verdict
    sentence: str
    asks: str = ""
    reason: str = ""
    resources: list[str] = []
    fragmented: bool = False
    holders: list[Blocker] = []
    elsewhere: list[str] = []
    value: Any = None
    error: BaseException | None = None

    def __bool__(self) -> bool:
        return self.verdict is Verdict.NOW

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"{self.verdict.name}: {self.sentence}"


# ---- what a request for room would bring, before anybody makes it


class ExpectedGrowth(msgspec.Struct, frozen=True):
    """The nodes that a request would bring, and the bundles for which none comes.

    nodes       how many nodes of which type would be asked for; empty if what is here or on its way suffices
    infeasible  requested bundles that no node and no type of node can meet
    short       requested bundles for which no more nodes may come now: every type that fits is at its `max`, or its
                last node did not come
    """

    nodes: dict[str, int] = {}
    infeasible: list[dict[str, float]] = []
    short: list[dict[str, float]] = []


# ---- why an idle node that was asked for stays, in words


def stays_for(needed: str, requests: Iterable[RequestRow]) -> str:
    """What a node is `needed` for: a "request", with those who make it; a "group"; its type's "min"; "" for nothing.

    >>> stays_for("request", [RequestRow("held", {"GPU": 2.0}, by="train.ipynb")])
    'train.ipynb holds room'
    """
    if needed != "request":
        return {"group": "a placement group waits for it", "min": "its type's min counts it"}.get(needed, "")
    return " and ".join(dict.fromkeys(map(_request_words, requests))) or "a request counts it"


def _request_words(row: RequestRow) -> str:
    by = row.by or "a program"
    return f"{by} holds room" if row.kind == "held" else f"{by} asked for room (request_resources)"
