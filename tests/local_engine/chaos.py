"""A program whose processes are killed at random while it works; every result must come, and be right."""

from __future__ import annotations

import gc
import random
import threading
import time
from typing import Any

import numpy
import psutil

import nbaccel
from tests.heads import rows
from tests.local_engine import sharing

HELPERS = ("zygote", "log", "mover")


@nbaccel.remote(max_retries=-1, num_gpus=0.5)
def on_gpu(value: int) -> int:
    return value


@nbaccel.remote(max_retries=-1)
def first_of(array: Any, value: int) -> int:
    return value + int(array[0])


@nbaccel.remote(max_retries=-1)
def nested(value: int) -> int:
    return int(nbaccel.get(first_of.remote(numpy.zeros(200_000), value)))


@nbaccel.remote(max_retries=-1)
def large(value: int) -> Any:
    return numpy.full(1_000_000, value % 200, dtype=numpy.uint8)


class Killer(threading.Thread):
    """Kills a child of the head now and then; helpers less often, since they need a moment to live."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.head = psutil.Process(nbaccel.snapshot().runtime.pid)
        self.done = threading.Event()
        self.killed: dict[str, int] = {}

    def run(self) -> None:
        while not self.done.wait(random.random() * 0.3):
            try:
                child = random.choice(self.head.children())
                name = " ".join(child.cmdline()).strip()
                if not name.startswith("nbaccel::"):  # a zygote that is killed at every start would never live
                    continue
                if not any(helper in name for helper in HELPERS) or random.random() < 0.3:
                    child.kill()
                    self.killed[name] = self.killed.get(name, 0) + 1
            except (psutil.Error, IndexError):
                continue  # it was faster


def submit(number: int, array: Any, actors: list[Any]) -> tuple[Any, Any]:
    """A ref and what it must give."""
    kind = random.randrange(6)
    if kind == 0:
        return first_of.remote(array, number), number
    if kind == 1:
        return on_gpu.remote(number), number
    if kind == 2:
        return nested.remote(number), number
    if kind == 3:
        return large.remote(number), number % 200
    if kind == 4:
        return random.choice(actors).echo.remote(number), number
    return nbaccel.put(number), number


def check(pending: list[tuple[Any, Any]]) -> None:
    for ref, wanted in pending:
        value = nbaccel.get(ref, timeout=120)
        assert (value[-1] if hasattr(value, "shape") else value) == wanted


def main(seconds: float) -> None:
    nbaccel.init(num_cpus=4, num_gpus=2, object_store_memory=48 << 20)
    killer = Killer()
    array = nbaccel.put(numpy.zeros(300_000))
    actors = [sharing.Keeper.options(max_restarts=-1, max_task_retries=-1).remote() for _ in range(2)]
    killer.start()
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        pending = [submit(number + i, array, actors) for i in range(40)]
        number += 40
        random.shuffle(pending)
        check(pending)
    killer.done.set()
    killer.join()
    del pending, array, actors
    while gc.collect() or rows("objects"):
        time.sleep(0.01)
    print("all ended", number, killer.killed)
