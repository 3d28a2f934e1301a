"""Functions with which ranks wait for each other, before torch has a process group or without torch."""

from __future__ import annotations

from typing import TypeVar

from nbaccel.train.session import current

T = TypeVar("T")


def barrier() -> None:
    """Wait until all ranks have called this."""
    current("collective.barrier").meet("barrier", None)


def broadcast_from_rank_zero(data: T) -> T:
    """Return rank 0's `data` in all ranks, once all have called this. For small objects only."""
    found: T = current("collective.broadcast_from_rank_zero").meet("broadcast", data)
    return found
