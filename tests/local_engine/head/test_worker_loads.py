"""What a worker uses is read when somebody looks, and at most twice a second."""

from __future__ import annotations

import pytest

from nbaccel import proc
from nbaccel.local_engine.head.worker_processes import WorkerLoads
from tests.local_engine.head.seams import Clock


def test_the_use_of_cpu_is_that_since_the_last_look(monkeypatch: pytest.MonkeyPatch) -> None:
    used, clock = {7: (3.0, (5 << 20) + 17)}, Clock()
    monkeypatch.setattr(proc, "usage", used.__getitem__)
    loads = WorkerLoads(clock, lambda: None)
    first = loads.of(7)
    assert first is not None and (first.cpu_percent, first.memory_bytes) == (None, 5 << 20)
    used[7] = 4.0, 9 << 20
    assert loads.of(7) is first  # it was read just now
    clock.jump(2.0)
    second = loads.of(7)
    assert second is not None and (second.cpu_percent, second.memory_bytes) == (50.0, 9 << 20)
    clock.jump(60.0)
    late = loads.of(7)
    assert late is not None and late.cpu_percent is None


def test_a_snapshot_is_asked_for_each_second_while_somebody_watches() -> None:
    asked: list[float] = []
    clock = Clock()
    loads = WorkerLoads(clock, lambda: asked.append(clock.now()))
    loads.measure(True)
    loads.measure(True)
    clock.jump(3.5)
    assert asked == [101.0, 102.0, 103.0]
    loads.measure(False)
    clock.jump(5.0)
    assert len(asked) == 3 and loads.of(1 << 30) is None
