"""The most device memory that a task had, by the word of its framework: read with nbaccel's own reader where it is."""

from __future__ import annotations

import importlib
import sys
from typing import Any

FRAMEWORKS = ("torch", "cupy", "jax")


def began() -> None:
    """Count from here, in a process that has used devices before."""
    known = reader()
    if known is not None:
        known.begin()


def peak_bytes() -> int | None:
    """None: unknown, since no framework that tells has opened a device, or the node has no nbaccel."""
    known = reader()
    if known is None:
        return None
    peak: int | None = known.measure(sys.maxsize).peak_bytes
    return peak


def reader() -> Any:
    """The module nbaccel.device_memory; None where nothing is known.

    Looked for only where a framework is loaded: importing it for nothing would cost every task.
    """
    if not any(name in sys.modules for name in FRAMEWORKS):
        return None
    try:
        return importlib.import_module("nbaccel.device_memory")
    except ImportError:
        return None
