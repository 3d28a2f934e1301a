"""What all rooms' tests share: conditions with a deadline, a gate that tasks wait at, and whether a process runs."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbaccel

# Ten times what the slowest condition (Ray starts a node or an actor again) takes on a busy machine.
DEADLINE_S = 90.0


@nbaccel.remote(num_cpus=0)
class Gate:
    """Shut until the test opens it; it counts who waits. Tasks that wait at it need no clock."""

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


def wait_until(condition: Callable[[], Any], what: str = "the condition", deadline_s: float = DEADLINE_S) -> Any:
    """Ask again and again until the answer is true; the answer."""
    end = time.monotonic() + deadline_s
    pause_s = 0.005
    while not (answer := condition()):
        assert time.monotonic() < end, f"waited {deadline_s:g} s for {what}"
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.05)  # a question to Ray costs milliseconds of all CPUs
    return answer


def written_so_far(descriptor: int) -> str:
    """What has been written to 1 or 2, which `capfd` has made a file of; it stays there.

    For conditions: `capfd.readouterr()` empties the file after it has read it, and loses what comes in between.
    """
    return os.pread(descriptor, 1 << 24, 0).decode(errors="replace")


def is_alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
