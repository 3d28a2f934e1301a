"""The scheduler knows no clock, thread, file, socket, environment or chance."""

from __future__ import annotations

import subprocess
import sys

BLOCKED = ("os", "time", "socket", "threading", "random", "_thread", "asyncio", "subprocess", "selectors")
PROGRAM = f"""
import sys
import msgspec, enum, collections, heapq, itertools, typing, collections.abc
for name in {BLOCKED!r}:
    sys.modules[name] = None  # from here on, importing it fails
sys.modules["nbaccel"] = type(sys)("nbaccel")
sys.modules["nbaccel"].__path__ = [sys.argv[1]]
from nbaccel.scheduling import growth, scheduler, terms
print("pure")
"""


def test_scheduling_imports_nothing_that_acts() -> None:
    from pathlib import Path

    package = Path(__file__).parents[2] / "nbaccel"
    run = subprocess.run([sys.executable, "-c", PROGRAM, str(package)], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "pure", run.stderr


def test_the_same_events_give_the_same_commands() -> None:
    from tests.scheduling.world import World, node

    def notified() -> list[str]:
        world = World(node("head", 2, CPU=2), node("n1", CPU=4), node("n2", CPU=4))
        for number in range(30):
            world.submit(f"f{number % 3}")
            world.gpu_task("g", 0.5)
            world.ready()
        return [f"{command.worker_id!r} {command.task.task_id!r} {command.devices}" for command in world.sent]

    assert notified() == notified()
