"""What goes wrong: processes are killed and stopped at random, those of the head and those that use it."""

from __future__ import annotations

import random
import signal
import subprocess
import threading
from collections import Counter

import psutil

from tests.census import Place

OBSERVER = """
from nbaccel.views import observing, sessions
(record,) = sessions.find()
with observing.connected(record) as observer:
    for snapshot in observer.snapshots():
        pass
"""
DRIVER = "from tools.soak import work\nwork.main({seed})\n"
HELPERS = ("zygote", "log", "prober", "mover")
PAUSE_S = 0.25  # at most, between two faults
STOP_S = 0.3  # at most, that a process stands still


class Faults(threading.Thread):
    """One fault after the other, until told to end."""

    def __init__(self, place: Place, head_pid: int, seed: int) -> None:
        super().__init__(name="faults", daemon=True)
        self._rng = random.Random(seed)
        self._place = place
        self._head = psutil.Process(head_pid)
        self._done = threading.Event()
        self._programs: dict[str, subprocess.Popen[str]] = {}
        self.happened: Counter[str] = Counter()
        self.failures: list[str] = []

    def run(self) -> None:
        while not self._done.wait(self._rng.random() * PAUSE_S):
            try:
                self._once()
            except psutil.Error:
                continue  # it was faster
        for name in list(self._programs):
            self._end(name)

    def finish(self) -> None:
        self._done.set()
        self.join()

    def _once(self) -> None:
        chance = self._rng.random()
        if chance < 0.1:
            self._replace("driver", DRIVER.format(seed=self._rng.randrange(1000)))
        elif chance < 0.2:
            self._replace("observer", OBSERVER)
        elif chance < 0.4:
            self._stand_still(self._head if chance < 0.23 else self._child())
        else:
            self._kill(self._child())

    def _child(self) -> psutil.Process:
        """A worker or, more seldom, a helper; none that starts: who is killed at every start would never live."""
        while True:
            children = self._head.children()
            if not children or self._done.is_set():
                raise psutil.NoSuchProcess(self._head.pid)
            child = self._rng.choice(children)
            if not _title(child).startswith("nbaccel::"):
                self._done.wait(0.01)  # it has not begun its work
            elif _role(child) == "worker" or self._rng.random() < 0.3:
                return child

    def _kill(self, process: psutil.Process) -> None:
        role = _role(process)
        process.kill()
        self.happened[f"kill {role}"] += 1

    def _stand_still(self, process: psutil.Process) -> None:
        role = "head" if process is self._head else _role(process)
        process.send_signal(signal.SIGSTOP)
        self._done.wait(self._rng.random() * STOP_S)
        process.send_signal(signal.SIGCONT)
        self.happened[f"stop {role}"] += 1

    def _replace(self, name: str, code: str) -> None:
        if name in self._programs:
            self._end(name)
            self.happened[f"kill {name}"] += 1
        self._programs[name] = self._place.start(code)

    def _end(self, name: str) -> None:
        """Kill a program of ours; one that has ended by itself has found something, or lost its race with a start."""
        program = self._programs.pop(name)
        if program.poll() is not None:
            self.failures.append(f"a {name} ended by itself: {(program.stderr or program.stdout).read()[-2000:]}")  # type: ignore[union-attr]
        program.kill()
        program.communicate()


def _role(process: psutil.Process) -> str:
    title = _title(process)
    return next((helper for helper in HELPERS if title == f"nbaccel::{helper}"), "worker")


def _title(process: psutil.Process) -> str:
    return " ".join(process.cmdline()).strip()
