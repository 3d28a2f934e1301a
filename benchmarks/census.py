"""Which processes belong to a run, and what they cost: memory by PSS, CPU time in nanoseconds.

A process belongs to the run if it descends from the driver or carries the run's token in its environment (daemons leave
the tree; process titles may overwrite the environment: either sign alone would miss some).
"""

from __future__ import annotations

import os
import select
import time
from pathlib import Path

TOKEN_VARIABLE = "NBACCEL_BENCHMARK_RUN"


def members(token: str | None = None) -> set[int]:
    """Pids of a run's processes (our own run, unless told which), without the process that asks."""
    mark = f"{TOKEN_VARIABLE}={token or os.environ[TOKEN_VARIABLE]}".encode()
    parents: dict[int, int] = {}
    marked: set[int] = set()
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
            parents[pid] = int(stat.rpartition(")")[2].split()[1])
            if mark in Path(f"/proc/{pid}/environ").read_bytes():
                marked.add(pid)
        except (OSError, ProcessLookupError):  # it ended meanwhile
            continue
    me = os.getpid()
    ours = token is None
    return {pid for pid in parents if pid != me and (pid in marked or (ours and _descends(pid, me, parents)))}


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        pid = parents[pid]
        if pid == ancestor:
            return True
    return False


def is_resource_tracker(pid: int) -> bool:
    try:
        return b"resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ProcessLookupError):
        return False


def pss_bytes(pids: set[int]) -> int:
    """Proportional set size: what each has alone and its share of what several have."""
    return sum(_pss(pid) for pid in pids)


def _pss(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except (OSError, ProcessLookupError):
        pass  # it ended meanwhile, or is a zombie
    return 0


def cpu_s(pids: set[int]) -> float:
    """CPU time of all threads so far; the scheduler counts it in nanoseconds, /proc/*/stat only in ticks of 10 ms."""
    return sum(_cpu_ns(pid) for pid in pids) / 1e9


def _cpu_ns(pid: int) -> int:
    total = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            total += int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0])
    except (OSError, ProcessLookupError):
        pass  # it ended meanwhile
    return total


def wait_until_gone(pids: set[int], timeout_s: float) -> set[int]:
    """Wait for the processes' ends; returns those that are still there."""
    deadline = time.monotonic() + timeout_s
    left = set()
    for pid in pids:
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            if not select.select([fd], [], [], max(deadline - time.monotonic(), 0))[0]:
                left.add(pid)
        finally:
            os.close(fd)
    return left
