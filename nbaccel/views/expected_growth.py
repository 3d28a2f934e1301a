"""What a request for room would bring, before anybody makes it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from nbaccel.views.snapshot import RequestRow


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
    return " and ".join(dict.fromkeys(map(_said, requests))) or "a request counts it"


def _said(row: RequestRow) -> str:
    by = row.by or "a program"
    return f"{by} holds room" if row.kind == "held" else f"{by} asked for room (request_resources)"
