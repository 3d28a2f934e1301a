"""How long an answer takes, and how long a device stays taken after its task has ended in an unusual way.

    python benchmarks/probe.py

Each figure is the median of many rounds on this machine; the goals are those of docs/never-hang.md. A device counts as
given back when the next task has started on it: in another process, which says when by the clock that all processes
of a machine share.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import nbaccel

PROBES, ROUNDS = 2_000, 15
GOALS_MS = {"probe": 2.0, "explain": 2.0, "given back": 100.0}


@nbaccel.remote(num_gpus=1, max_retries=0)
def hold(started: str, fails: bool) -> None:
    """Runs until it is ended; one that fails does so as soon as it is told to."""
    Path(started).write_text(str(os.getpid()))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    signal.sigwait({signal.SIGUSR1}) if fails else _wait_for_ever()
    raise ValueError("on purpose")


def _wait_for_ever() -> None:
    while True:
        time.sleep(1)


@nbaccel.remote(num_gpus=1)
def next_one() -> tuple[float, int]:
    return time.monotonic(), os.getpid()


def _signal(number: int) -> Callable[[Any, int], None]:
    return lambda ref, pid: os.kill(pid, number)


ENDS: dict[str, tuple[bool, Callable[[Any, int], None]]] = {
    "cancelled": (False, lambda ref, pid: nbaccel.cancel(ref)),
    "cancelled with force": (False, lambda ref, pid: nbaccel.cancel(ref, force=True)),
    "killed by SIGKILL": (False, _signal(signal.SIGKILL)),
    "failed": (True, _signal(signal.SIGUSR1)),
}


def answers_ms(ask: Callable[[], object]) -> float:
    """The median of one question's answer."""
    times = []
    for _ in range(PROBES):
        began = time.perf_counter()
        ask()
        times.append(time.perf_counter() - began)
    return median(times) * 1000


def given_back_ms(how: str) -> float:
    """From the end of a task to the start of the next one on its device, in milliseconds."""
    fails, end = ENDS[how]
    times = []
    for _ in range(ROUNDS):
        started = Path(tempfile.mkdtemp()) / "pid"
        ref = hold.remote(str(started), fails)
        while not started.exists() or not (pid := started.read_text()):
            time.sleep(0.001)
        waiting = next_one.remote()
        assert nbaccel.wait([waiting], timeout=0.05) == ([], [waiting])
        ended_at = time.monotonic()
        end(ref, int(pid))
        began_at, other = nbaccel.get(waiting)
        assert other != int(pid), "the same process: its device memory was not given back"
        times.append(began_at - ended_at)
    return median(times) * 1000


def main() -> int:
    """Print each figure beside its goal; 1 when one is missed."""
    nbaccel.init(num_cpus=4, num_gpus=1)
    missed = _row("probe, free", answers_ms(nbaccel.probe), "probe")
    holding = hold.remote(os.devnull, False)
    while nbaccel.probe():
        time.sleep(0.01)
    waiting = next_one.remote()
    missed |= _row("probe, busy", answers_ms(nbaccel.probe), "probe")
    missed |= _row("probe, never", answers_ms(lambda: nbaccel.probe(num_gpus=8)), "probe")
    missed |= _row("explain(ref)", answers_ms(lambda: nbaccel.explain(waiting)), "explain")
    nbaccel.cancel(holding, force=True)
    nbaccel.get(waiting)
    for how in ENDS:
        missed |= _row(f"device given back, {how}", given_back_ms(how), "given back")
    nbaccel.shutdown()
    return int(missed)


def _row(name: str, figure_ms: float, goal: str) -> bool:
    within = figure_ms <= GOALS_MS[goal]
    print(f"{name:<42} {figure_ms:8.2f} ms   goal {GOALS_MS[goal]:g} ms   {'met' if within else 'MISSED'}")
    return not within


if __name__ == "__main__":
    sys.exit(main())
