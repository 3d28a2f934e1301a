"""How much CPU and memory workers use: read from /proc when a snapshot is made, at most once a second for each."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from nbaccel import proc
from nbaccel.local_engine.head.poll import LoopTimers

EVERY_S = 1.0
_FORGOTTEN_S = 10.0  # after so long without a look, the use of CPU is not known until the next one
_STEP_BYTES = 1 << 20  # smaller differences are not told


class Load(Struct):
    """The use of one process with those that its main thread has started."""

    at: float
    cpu_s: float
    cpu_percent: float | None  # of one CPU, since the last look
    memory_bytes: int


class WorkerLoads:
    """Those of one head's workers, by pid."""

    def __init__(self, timers: LoopTimers, changed: Callable[[], None]) -> None:
        self._timers = timers
        self._changed = changed  # a new snapshot is worth making
        self._loads: dict[int, Load] = {}
        self._wanted = False
        self._armed = False

    def measure(self, on: bool) -> None:
        """Have a snapshot made once a second while somebody watches."""
        self._wanted = on
        if on and not self._armed:
            self._armed = True
            self._timers.after(EVERY_S, self._tick)

    def _tick(self) -> None:
        self._armed = False
        old = self._timers.now() - _FORGOTTEN_S
        self._loads = {pid: load for pid, load in self._loads.items() if load.at > old}
        if self._wanted:
            self._changed()
            self.measure(True)

    def of(self, pid: int) -> Load | None:
        """The newest load; None of a process that has ended or that the system hides."""
        now, before = self._timers.now(), self._loads.get(pid)
        if before is not None and now < before.at + EVERY_S / 2:
            return before
        try:
            cpu_s, memory_bytes = proc.usage(pid)
        except OSError:
            return None
        percent = None
        if before is not None and now < before.at + _FORGOTTEN_S:
            percent = float(round(max(0.0, cpu_s - before.cpu_s) / (now - before.at) * 100))
        load = self._loads[pid] = Load(now, cpu_s, percent, memory_bytes // _STEP_BYTES * _STEP_BYTES)
        return load
