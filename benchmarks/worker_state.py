"""What it costs a worker to see that a task has left its process as it was, and to put everything back.

    python -m benchmarks.worker_state

Each figure is the least of many short rounds, in microseconds: other processes only ever make one longer. The look
follows every task; the whole follows an error, a task of more than a millisecond, and the last task before a pause.
"""

from __future__ import annotations

import os
import sys
import timeit
from collections.abc import Callable

from nbaccel.local_engine.worker.main import ProcessState

CALLS, ROUNDS = 300, 300
GOAL_US = 3.0


def least_us(work: Callable[[], object]) -> float:
    return min(timeit.repeat(work, number=CALLS, repeat=ROUNDS)) / CALLS * 1e6


def main() -> int:
    """Print both figures; 1 when the look after every task costs more than its goal."""
    arena = os.memfd_create("arena")
    state = ProcessState({1: "stdout", 2: "stderr", arena: "arena"})
    assert not state.is_disturbed() and not state.restore()
    look, whole = least_us(state.is_disturbed), least_us(state.restore)
    print(f"look after every task     {look:6.2f} us   goal {GOAL_US:g} us   {'met' if look <= GOAL_US else 'MISSED'}")
    print(f"everything is put back    {whole:6.2f} us")
    os.close(arena)
    return int(look > GOAL_US)


if __name__ == "__main__":
    sys.exit(main())
