"""Why an idle node that was asked for stays, in words."""

from __future__ import annotations

from collections.abc import Iterable

from nbaccel.views.snapshot import RequestRow


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
