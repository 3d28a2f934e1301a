"""A program that is interrupted thousands of times while it talks to its head; then everything must still work.

Run with the number of interrupts. A child of it sends them at random moments; the program gets, puts, submits and
waits all the while, and checks every answer that it gets. It goes on until half as many have cut a call short: how many
come while the last one is still being raised depends on how busy the machine is.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import threading
from typing import Any

import nbaccel
from nbaccel.util.state import list_tasks
from tests.local_engine import sharing
from tests.rig import wait_until


class Calls:
    """Calls of every kind; each answer is checked."""

    def __init__(self) -> None:
        import numpy

        self.large = numpy.arange(100_000, dtype=numpy.uint8)
        self.actor = sharing.Keeper.remote()
        self.old: Any = nbaccel.put(self.large)
        self.kinds = (
            self.task,
            self.tasks_in_a_row,
            self.put,
            self.call,
            self.large_put,
            self.large_get,
            self.large_argument,
            self.wait,
        )

    def task(self) -> None:
        assert nbaccel.get(sharing.same.remote(1)) == 1
        assert nbaccel.get(sharing.same.options(name=f"named {random.random()}").remote(2)) == 2

    def tasks_in_a_row(self) -> None:
        for number in range(20):
            assert nbaccel.get(sharing.same.remote(number)) == number

    def put(self) -> None:
        assert nbaccel.get(nbaccel.put([3])) == [3]

    def call(self) -> None:
        assert nbaccel.get(self.actor.echo.remote(4)) == 4

    def large_put(self) -> None:
        assert nbaccel.get(nbaccel.put(self.large))[5] == 5

    def large_get(self) -> None:
        assert nbaccel.get(self.old)[6] == 6

    def large_argument(self) -> None:
        assert nbaccel.get(sharing.first.remote(self.large)) == 0

    def wait(self) -> None:
        ready, waiting = nbaccel.wait([sharing.same.remote(1), self.old], num_returns=2)
        assert (len(ready), len(waiting)) == (2, 0)


def pester(pid: int) -> None:
    """Send SIGINTs without end, at random moments; the next one when the last was seen (a byte on stdin)."""
    while True:
        for _pause in range(random.randrange(random.choice((50, 1_000, 30_000)))):
            pass
        os.kill(pid, signal.SIGINT)
        if not os.read(0, 1):
            return


class Interrupts:
    """Counts them, lets the sender go on, and raises one as Python's own handler does when `armed`."""

    def __init__(self, answer_fd: int) -> None:
        self.count = 0
        self.raised = 0
        self.armed = False
        self._answer_fd = answer_fd
        signal.signal(signal.SIGINT, self)

    def __call__(self, number: int, frame: Any) -> None:
        self.count += 1
        os.write(self._answer_fd, b".")
        if self.armed:
            self.armed = False
            self.raised += 1
            raise KeyboardInterrupt


def is_store_empty() -> bool:
    """What an interrupt kept alive is gone when its traceback is."""
    gc.collect()
    return nbaccel.available_resources()["object_store_memory"] == nbaccel.cluster_resources()["object_store_memory"]


def main(wanted: int) -> None:
    nbaccel.init(num_cpus=2, object_store_memory=64 << 20)
    calls = Calls()
    for kind in calls.kinds:  # so that nothing is imported later on: Python 3.11 ends by SIGINT, whatever is caught,
        kind()  # after an interrupt of the `exec` that a namedtuple is made by
    read, write = os.pipe()
    interrupts = Interrupts(write)
    me, child = os.getpid(), os.fork()
    if child == 0:
        os.dup2(read, 0)
        os.close(write)
        pester(me)
        os._exit(0)
    done = 0
    while interrupts.count < wanted or interrupts.raised < wanted // 2 or done < 100:
        try:
            interrupts.armed = True
            random.choice(calls.kinds)()
            done += 1
            interrupts.armed = False
        except KeyboardInterrupt:
            continue
    interrupts.armed = False
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    for kind in calls.kinds * 10:
        kind()
    wait_until(
        lambda: not [task for task in list_tasks(limit=10_000) if task["state"] == "RUNNING"], "all tasks to end"
    )
    wait_until(lambda: nbaccel.available_resources()["CPU"] == 2, "all CPUs to be free")
    calls.old = None
    wait_until(is_store_empty, "the object store to be empty")
    print("all well", interrupts.count, interrupts.raised, done, threading.active_count())


if __name__ == "__main__":
    sys.unraisablehook = len  # type: ignore[assignment]  # an interrupt inside a finaliser: Python can only report it
    main(int(sys.argv[1]))
