"""A task's peak of device memory, as its framework reports it; nbaccel's reader reads it if the node has nbaccel."""

from __future__ import annotations

import importlib
import sys
from typing import Any

FRAMEWORKS = ("torch", "cupy", "jax")


def began() -> None:
    """Reset the peak, in a process that has used devices before."""
    known = reader()
    if known is not None:
        known.begin()


def peak_bytes() -> int | None:
    """The peak in bytes; None if no framework that reports it has opened a device, or the node has no nbaccel."""
    known = reader()
    if known is None:
        return None
    peak: int | None = known.measure(sys.maxsize).peak_bytes
    return peak


def reader() -> Any:
    """The module nbaccel.device_memory; None if it cannot report anything.

    It is imported only if a framework is loaded: a useless import would cost every task.
    """
    if not any(name in sys.modules for name in FRAMEWORKS):
        return None
    try:
        return importlib.import_module("nbaccel.device_memory")
    except ImportError:
        return None
