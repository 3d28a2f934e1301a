"""One contender's session, in a process of its own: start, the rows that were asked for, stop.

    python -m benchmarks.session CONTENDER SESSION ROW,ROW,... FILE

Figures are lines of JSON at the end of FILE, each there as soon as it is known; contenders may print what they like.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import census, contenders, measures, tasks

SETUPS = {
    "main": contenders.Setup(),
    "torch": contenders.Setup(preload=("torch",)),
    "values": contenders.Setup(gpus=0),
    "line": contenders.Setup(cpus=1, gpus=0),
}


class Report:
    """The file of figures."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self, **facts: Any) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps(facts) + "\n")


def started(contender: contenders.Contender, setup: contenders.Setup) -> float:
    """Seconds from the import to the first task's answer."""
    began = time.perf_counter()
    contender.start(setup)
    pid, back = contender.results([contender.submit(tasks.echo, 1)])[0]
    elapsed = time.perf_counter() - began
    measures.expect(pid != os.getpid() and back == 1, (pid, back))
    return elapsed


def stopped(contender: contenders.Contender) -> float:
    """Seconds until the last process is gone, but for Python's resource tracker, which ends with the interpreter."""
    pids = {pid for pid in census.members() if not census.is_resource_tracker(pid)}
    began = time.perf_counter()
    contender.stop()
    left = census.wait_until_gone(pids, 20.0)
    measures.expect(not left, f"still there 20 s after shutdown: {sorted(left)}")
    return time.perf_counter() - began


def main(name: str, session: str, rows: set[str], report: Report) -> None:
    contender = contenders.load(name)
    report(row="start", value=started(contender, SETUPS[session]))
    for keys, measure in measures.MEASURES[session]:
        if not rows.intersection(keys):
            continue
        try:
            for row, value in measure(contender):
                report(row=row, value=value)
        except Exception as error:  # a contender may fail at one row and do well at the others; the table says so
            report(row=keys[0], problem=f"{type(error).__name__}: {error}")
    report(row="shutdown", value=stopped(contender))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], set(sys.argv[3].split(",")), Report(Path(sys.argv[4])))
