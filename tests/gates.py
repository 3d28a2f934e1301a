"""Waiting in tests without a clock: a gate that tasks wait at, and conditions with a deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import nbaccel

DEADLINE_S = 30.0


@nbaccel.remote(num_cpus=0)
class Gate:
    """Shut until the test opens it; it counts who waits."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._arrived = 0

    async def wait(self) -> None:
        self._arrived += 1
        await self._open.wait()

    async def arrived(self) -> int:
        return self._arrived

    async def open(self) -> None:
        self._open.set()


def wait_until(condition: Callable[[], Any]) -> Any:
    """Ask again until the answer is true; the answer."""
    deadline = time.monotonic() + DEADLINE_S
    while not (answer := condition()):
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.01)
    return answer
