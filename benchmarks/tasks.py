"""The code that runs in workers, the same for every contender; each answer names its process, and the driver checks."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

_used = False  # a fresh process finds it False
_large: Any = None


def echo(argument: Any) -> tuple[int, Any]:
    """The smallest task that proves where it ran and what it was given."""
    return os.getpid(), argument


def on_device(argument: int) -> tuple[int, int, bool, str]:
    """(pid, argument, whether another task ran in this process before, the devices that it may see)."""
    global _used
    before, _used = _used, True
    return os.getpid(), argument, before, os.environ.get("CUDA_VISIBLE_DEVICES", "")


def multiply(argument: int) -> tuple[int, int, bool, float]:
    """A device task that needs torch: (pid, argument, whether the process is a used one, the trace of a product)."""
    global _used
    before, _used = _used, True
    import torch

    matrix = torch.full((64, 64), float(argument))
    return os.getpid(), argument, before, float((matrix @ matrix).trace())


def look_at(array: Any) -> tuple[int, tuple[int, float, float]]:
    """Take an array; say its size and both ends."""
    return os.getpid(), (array.nbytes, float(array[0]), float(array[-1]))


def hand_over(size_bytes: int) -> Any:
    """Return an array that was made before, so that the answer's way is measured and not its making."""
    global _large
    if _large is None or _large.nbytes != size_bytes:
        import numpy

        _large = numpy.arange(size_bytes // 8, dtype="float64")
        _large[0] = os.getpid()
    return _large


def hand_over_kind(name: str, first: int) -> Any:
    """Return a value that was made before, of one of the kinds that people hold."""
    global _large
    if not isinstance(_large, tuple) or _large[0] != name:
        from benchmarks import held

        _large = name, held.KINDS[name].make(first)
    return _large[1]


def wait_for(path: str) -> int:
    """Hold a CPU until the file is there."""
    while not os.path.exists(path):
        time.sleep(0.002)
    return os.getpid()


class Echo:
    """The smallest actor."""

    def echo(self, argument: Any) -> tuple[int, Any]:
        return os.getpid(), argument


class AsyncEcho:
    """The smallest asyncio actor."""

    async def echo(self, argument: Any) -> tuple[int, Any]:
        return os.getpid(), argument


def stream(count: int) -> Iterator[tuple[int, int]]:
    """The smallest stream."""
    for number in range(count):
        yield os.getpid(), number
