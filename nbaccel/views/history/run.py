"""One run, as an engine reports it to the history."""

from __future__ import annotations

import msgspec


class PastRun(msgspec.Struct, frozen=True):
    """A task or a call from its start to its end, or an actor for as long as it lives on its devices."""

    function: str  # or class
    cell: str
    job: int
    state: str  # as snapshots say it: "FINISHED", "FAILED", "CANCELLED", "RUNNING", "ALIVE"
    devices: tuple[tuple[str, float], ...]  # lane and amount of each, see `lane_of`
    id: str  # hex: its shade
    submitted: float | None  # Unix seconds, as all below
    started: float
    ended: float | None = None  # while it goes on
    number: int = 1  # of runs that this stands for: alike ones that came one after the other within one grain
    seconds: float | None = None  # of all of them, where they are several
    holds: bool = True  # it holds devices itself: a call uses its actor's


def lane_of(node_id: str, resource: str, id: str) -> str:
    """The name of a device's lane."""
    return f"{node_id[:12]}/{resource}/{id}"
