"""How much CPU and memory Ray's workers use, from what the agents of their nodes read."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from nbaccel.ray_engine.reports.service_actors import ServiceActors
from nbaccel.views import totals
from nbaccel.views.snapshot import WorkerRow

# Asks several nodes' agents, and returns what those have answered that answer soon.
Answered = Callable[[Mapping[str, Any]], Mapping[str, Any]]
_FORGOTTEN_S = 10.0
_STEP_BYTES = 1 << 20  # smaller differences are not told


class WorkerUse:
    """What one process has learned of them."""

    def __init__(self, actors: ServiceActors, answered: Answered) -> None:
        self._actors = actors
        self._answered = answered
        self._before: dict[tuple[str, int], tuple[float, float]] = {}  # node and pid -> (seconds of CPU, when)

    def fill(self, workers: list[WorkerRow]) -> None:
        """Complete the rows of workers that run something."""
        asked: dict[str, list[int]] = {}
        for row in workers:
            if row.pid is not None and row.state not in totals.RESTING:
                asked.setdefault(row.node_id, []).append(row.pid)
        found = self._answered({id: self._actors.agent(id).usage.remote(pids) for id, pids in asked.items()})
        now = time.monotonic()
        self._before = {key: seen for key, seen in self._before.items() if now < seen[1] + _FORGOTTEN_S}
        for row in workers:
            used = found.get(row.node_id, {}).get(row.pid)
            if used is not None and row.pid is not None:
                row.memory_bytes = used[1] // _STEP_BYTES * _STEP_BYTES
                row.cpu_percent = self._percent((row.node_id, row.pid), used[0], now)

    def _percent(self, key: tuple[str, int], cpu_s: float, now: float) -> float | None:
        before = self._before.get(key)
        self._before[key] = cpu_s, now
        if before is None or now <= before[1]:
            return None
        return float(round(max(0.0, cpu_s - before[0]) / (now - before[1]) * 100))
