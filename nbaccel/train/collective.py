"""Ranks that wait for each other, without a process group of torch's: also before there is one, and without torch."""

from __future__ import annotations

from typing import TypeVar

from nbaccel.train.session import current

T = TypeVar("T")


def barrier() -> None:
    """Wait until all ranks have called this."""
    current("collective.barrier").meet("barrier", None)


def broadcast_from_rank_zero(data: T) -> T:
    """Rank 0's `data`, in all ranks, when all have called this. Small objects: it travels through the driver's side."""
    found: T = current("collective.broadcast_from_rank_zero").meet("broadcast", data)
    return found
